const APART_MS = 1_000

/**
 * Run an action soon, at most once a second, however often it is requested. An action that takes longer ends before the
 * next one begins: a slow response is shown, not replaced by further requests.
 * @param {() => unknown} act @param {{later?: (run: () => void, ms: number) => unknown, now?: () => number}} [dependencies]
 */
export function throttle(act, { later = setTimeout, now = Date.now } = {}) {
  let requested = false
  let running = false
  let last = -Infinity
  const run = async () => {
    requested = false
    running = true
    last = now()
    try {
      await act()
    } finally {
      running = false
      if (requested) schedule()
    }
  }
  const schedule = () => later(run, Math.max(0, last + APART_MS - now()))
  return () => {
    if (requested) return
    requested = true
    if (!running) schedule()
  }
}
