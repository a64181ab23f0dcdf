/** The only Trusted Types policy: it creates addresses of our own scripts, and nothing else. */
const rules = {
  /** @param {string} url */
  createScriptURL(url) {
    const absolute = new URL(url, location.origin)
    if (absolute.origin !== location.origin) throw new TypeError("A script may only come from this server.")
    return absolute.href
  },
}

/** @type {any} */
const trustedTypes = /** @type {any} */ (globalThis).trustedTypes
const policy = trustedTypes?.createPolicy("lamplighter", rules) ?? rules

/** @param {string} url @returns {any} */
export function scriptAddress(url) {
  return policy.createScriptURL(url)
}
