const KEY = "lamplighter.visit"
const APART_MS = 30 * 60_000

/**
 * Since when the operator has been away. Looking again within half an hour is the same visit: a reload loses nothing.
 * @param {{storage: Pick<Storage, "getItem" | "setItem">, now?: () => number}} with_
 */
export function lastVisit({ storage, now = Date.now }) {
  let { seen, since } = kept(storage)
  return {
    /** The end of the visit before this one; null on the first. */
    get since() {
      return since === null ? null : new Date(since).toISOString()
    },

    /** The operator is here. Is this the start of another visit? */
    touch() {
      const at = now()
      const another = seen !== null && at - seen >= APART_MS
      if (another) since = seen
      seen = at
      storage.setItem(KEY, JSON.stringify({ seen, since }))
      return another
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
