const KEY = "lamplighter.left"
const AGAIN_MS = 10_000

/**
 * Load the page anew when the server does not know us any more: it answers with the page to log in by. Not twice in a
 * moment, so that a server that is of two minds cannot make a page load for ever.
 * @param {{reload: () => void, storage: {getItem(key: string): string | null, setItem(key: string, value: string): void}, now?: () => number}} with_
 */
export function reloadOnLogout({ reload, storage, now = Date.now }) {
  let left = false
  return () => {
    if (left || now() - Number(storage.getItem(KEY) ?? 0) < AGAIN_MS) return
    left = true
    storage.setItem(KEY, String(now()))
    reload()
  }
}
