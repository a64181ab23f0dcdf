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
  const held = new Map()
  return {
    /** @param {number | string} id @param {{version: number, base?: unknown, draft: unknown}} what */
    keep(id, { version, base = null, draft }) {
      const key = `${PREFIX}${id}-${version}`
      const fresh = !held.has(key)
      const kept = { at: now(), version, base, draft }
      held.set(key, kept)
      storage.setItem(key, JSON.stringify(kept))
      if (fresh) prune()
    },

    /** The newest draft of a row. @param {number | string} id @returns {StoredDraft | null} */
    of(id) {
      const mine = all().filter(({ key }) => key.startsWith(`${PREFIX}${id}-`))
      return mine.sort((a, b) => b.kept.at - a.kept.at)[0]?.kept ?? null
    },

    /** @param {number | string} id @param {number} version */
    drop(id, version) {
      forget(`${PREFIX}${id}-${version}`)
    },
  }

  function prune() {
    const found = all().sort((a, b) => b.kept.at - a.kept.at)
    for (const { key } of found.slice(MOST)) forget(key)
  }

  /** @param {string} key */
  function forget(key) {
    held.delete(key)
    storage.removeItem(key)
  }

  function all() {
    const keys = new Set([...(storage.keys?.() ?? []), ...held.keys()].filter((key) => key.startsWith(PREFIX)))
    return [...keys].flatMap((key) => {
      const kept = read(storage.getItem(key)) ?? held.get(key)
      return kept ? [{ key, kept }] : []
    })
  }
}

/** @param {string | null} text @returns {StoredDraft | null} */
function read(text) {
  try {
    const kept = JSON.parse(text ?? "null")
    return Number.isFinite(kept?.at) && Number.isInteger(kept.version) ? kept : null
  } catch {
    return null
  }
}
