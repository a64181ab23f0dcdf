/** Storage of this browser. If storage is blocked, the app works without it. */
export const storage = guarded(() => localStorage)

/** Storage of this tab, until it is closed. */
export const tabStorage = guarded(() => sessionStorage)

/** @param {() => Storage} place */
function guarded(place) {
  return {
    /** @param {string} key */
    getItem(key) {
      return attempt(() => place().getItem(key))
    },
    /** @param {string} key @param {string} value */
    setItem(key, value) {
      attempt(() => place().setItem(key, value))
    },
    /** @param {string} key */
    removeItem(key) {
      attempt(() => place().removeItem(key))
    },
    /** @returns {string[]} */
    keys() {
      return attempt(() => Object.keys(place())) ?? []
    },
  }
}

/** @template T @param {() => T} act */
function attempt(act) {
  try {
    return act()
  } catch {
    return null
  }
}
