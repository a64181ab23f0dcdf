const KEY = "lamplighter.visit"
const APART_MS = 30 * 60_000

/**
 * The time since which the operator has been away. A return within half an hour belongs to the same visit, so that a
 * reload loses nothing.
 * @param {{storage: Pick<Storage, "getItem" | "setItem">, now?: () => number}} dependencies
 */
export function lastVisit({ storage, now = Date.now }) {
  let { seen, since } = kept(storage)
  return {
    /** The end of the previous visit; null on the first visit. */
    get since() {
      return since === null ? null : new Date(since).toISOString()
    },

    /** Record that the operator is here; returns whether a new visit starts. */
    touch() {
      const at = now()
      const isNewVisit = seen !== null && at - seen >= APART_MS
      if (isNewVisit) since = seen
      seen = at
      storage.setItem(KEY, JSON.stringify({ seen, since }))
      return isNewVisit
    },
  }
}

/** @param {Pick<Storage, "getItem">} storage @returns {{seen: number | null, since: number | null}} */
function kept(storage) {
  try {
    const { seen = null, since = null } = JSON.parse(storage.getItem(KEY) ?? "{}")
    return { seen: whole(seen), since: whole(since) }
  } catch {
    return { seen: null, since: null }
  }
}

/** @param {unknown} value */
function whole(value) {
  return Number.isSafeInteger(value) ? Number(value) : null
}
