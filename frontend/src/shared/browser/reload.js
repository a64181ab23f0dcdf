const KEY = "lamplighter.left"
const AGAIN_MS = 10_000

/**
 * Reload the page if the server rejects the login: it then responds with the login page. Not twice within a moment, so
 * that an inconsistent server cannot cause an endless reload.
 * @param {{reload: () => void, storage: {getItem(key: string): string | null, setItem(key: string, value: string): void}, now?: () => number}} dependencies
 */
export function reloadOnLogout({ reload, storage, now = Date.now }) {
  let isReloading = false
  return () => {
    if (isReloading || now() - Number(storage.getItem(KEY) ?? 0) < AGAIN_MS) return
    isReloading = true
    storage.setItem(KEY, String(now()))
    reload()
  }
}
