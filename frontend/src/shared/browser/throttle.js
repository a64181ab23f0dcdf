const APART_MS = 1_000

/**
 * Run an action soon, at most once a second, however often it is requested. An action that takes longer ends before the
 * next one begins: a slow response is shown, not replaced by further requests.
 * @param {() => unknown} action @param {{later?: (run: () => void, ms: number) => unknown, now?: () => number}} [dependencies]
 */
export function throttle(action, { later = setTimeout, now = Date.now } = {}) {
  let isScheduled = false
  let running = false
  let lastRun = -Infinity
  const run = async () => {
    isScheduled = false
    running = true
    lastRun = now()
    try {
      await action()
    } finally {
      running = false
      if (isScheduled) schedule()
    }
  }
  const schedule = () => later(run, Math.max(0, lastRun + APART_MS - now()))
  return () => {
    if (isScheduled) return
    isScheduled = true
    if (!running) schedule()
  }
}
