/** What this browser remembers for its operator. Where it may not remember, the app works all the same. */
export const storage = {
  /** @param {string} key */
  getItem(key) {
    return attempt(() => localStorage.getItem(key))
  },
  /** @param {string} key @param {string} value */
  setItem(key, value) {
    attempt(() => localStorage.setItem(key, value))
  },
  /** @param {string} key */
  removeItem(key) {
    attempt(() => localStorage.removeItem(key))
  },
}

/** @template T @param {() => T} act */
function attempt(act) {
  try {
    return act()
  } catch {
    return null
  }
}
