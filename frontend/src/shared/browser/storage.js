/** Storage of this browser. If storage is blocked, the app works without it. */
export const storage = guarded(() => localStorage)

/** Storage of this tab, until it is closed. */
export const tabStorage = guarded(() => sessionStorage)

/** @param {() => Storage} storageOf */
function guarded(storageOf) {
  return {
    /** @param {string} key */
    getItem(key) {
      return attempt(() => storageOf().getItem(key))
    },
    /** @param {string} key @param {string} value */
    setItem(key, value) {
      attempt(() => storageOf().setItem(key, value))
    },
    /** @param {string} key */
    removeItem(key) {
      attempt(() => storageOf().removeItem(key))
    },
    /** @returns {string[]} */
    keys() {
      return attempt(() => Object.keys(storageOf())) ?? []
    },
  }
}

/** @template T @param {() => T} action */
function attempt(action) {
  try {
    return action()
  } catch {
    return null
  }
}
