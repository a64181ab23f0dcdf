const PREFIX = "lamplighter.draft."
const MOST = 50

/** @typedef {{at: number, version: number, base: unknown, draft: unknown}} StoredDraft a draft, its time, and the version and row it was begun on */

/**
 * Unsaved drafts, by row and version. They survive a reload; if storage is blocked or full, they last as long as the
 * page.
 * @param {{storage: Pick<Storage, "getItem" | "setItem" | "removeItem"> & {keys?: () => string[]}, now?: () => number}} dependencies
 */
export function drafts({ storage, now = Date.now }) {
  /** @type {Map<string, StoredDraft>} */
  const unsavedDrafts = new Map()
  return {
    /** @param {number | string} id @param {{version: number, base?: unknown, draft: unknown}} what */
    keep(id, { version, base = null, draft }) {
      const key = `${PREFIX}${id}-${version}`
      const isNew = !unsavedDrafts.has(key)
      const record = { at: now(), version, base, draft }
      unsavedDrafts.set(key, record)
      storage.setItem(key, JSON.stringify(record))
      if (isNew) prune()
    },

    /** The newest draft of a row. @param {number | string} id @returns {StoredDraft | null} */
    of(id) {
      const matching = all().filter(({ key }) => key.startsWith(`${PREFIX}${id}-`))
      return matching.sort((a, b) => b.kept.at - a.kept.at)[0]?.kept ?? null
    },

    /** @param {number | string} id @param {number} version */
    drop(id, version) {
      forget(`${PREFIX}${id}-${version}`)
    },
  }

  function prune() {
    const newestFirst = all().sort((a, b) => b.kept.at - a.kept.at)
    for (const { key } of newestFirst.slice(MOST)) forget(key)
  }

  /** @param {string} key */
  function forget(key) {
    unsavedDrafts.delete(key)
    storage.removeItem(key)
  }

  function all() {
    const keys = new Set([...(storage.keys?.() ?? []), ...unsavedDrafts.keys()].filter((key) => key.startsWith(PREFIX)))
    return [...keys].flatMap((key) => {
      const record = read(storage.getItem(key)) ?? unsavedDrafts.get(key)
      return record ? [{ key, kept: record }] : []
    })
  }
}

/** @param {string | null} text @returns {StoredDraft | null} */
function read(text) {
  try {
    const record = JSON.parse(text ?? "null")
    return Number.isFinite(record?.at) && Number.isInteger(record.version) ? record : null
  } catch {
    return null
  }
}
