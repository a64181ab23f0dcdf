const APART_MS = 1_000

/**
 * Run an action soon, at most once a second, however often it is requested.
 * @param {() => unknown} act @param {{later?: (run: () => void, ms: number) => unknown, now?: () => number}} [dependencies]
 */
export function throttle(act, { later = setTimeout, now = Date.now } = {}) {
  let waiting = false
  let last = -Infinity
  return () => {
    if (waiting) return
    waiting = true
    later(
      () => {
        waiting = false
        last = now()
        act()
      },
      Math.max(0, last + APART_MS - now()),
    )
  }
}
