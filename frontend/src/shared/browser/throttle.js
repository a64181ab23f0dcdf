const APART_MS = 1_000
const MAX_APART_MS = 5_000
const TIMES_APART = 3 // a slow action runs for at most a third of the time

/**
 * Run an action soon, at most once a second, however often it is requested. An action that takes longer ends before the
 * next one begins: a slow response is shown, not replaced by further requests. The next one then begins later, at most
 * after five seconds.
 * @param {() => unknown} action @param {{later?: (run: () => void, ms: number) => unknown, now?: () => number}} [dependencies]
 */
export function throttle(action, { later = setTimeout, now = Date.now } = {}) {
  let isScheduled = false
  let running = false
  let lastRun = -Infinity
  let apart = APART_MS
  const run = async () => {
    isScheduled = false
    running = true
    lastRun = now()
    try {
      await action()
    } finally {
      running = false
      apart = Math.min(Math.max(APART_MS, TIMES_APART * (now() - lastRun)), MAX_APART_MS)
      if (isScheduled) schedule()
    }
  }
  const schedule = () => later(run, Math.max(0, lastRun + apart - now()))
  return () => {
    if (isScheduled) return
    isScheduled = true
    if (!running) schedule()
  }
}
