import { THRESHOLD, fadesOut } from "../format.js"

const WIDTH = 300
const HEIGHT = 72
const WEEK_MS = 7 * 86_400_000

/** @param {number} confidence */
const down = (confidence) => HEIGHT * (1 - confidence)

/**
 * The confidence over time as steps, then where fading will take it: two paths in one box.
 * @param {Memory} memory @param {HistoryEntry[]} history newest first @param {number} now
 */
export function trend(memory, history, now) {
  const points = history
    .filter(({ after }) => after)
    .map(({ at, after }) => ({ at: Date.parse(at), value: after?.confidence ?? 0 }))
    .reverse()
  if (!points.length) points.push({ at: Date.parse(memory.created_at), value: memory.confidence })
  points.push({ at: now, value: memory.confidence })
  const end = fadesOut(memory, now)?.getTime() ?? now
  const start = points[0].at
  const across = (/** @type {number} */ at) => (WIDTH * (at - start)) / Math.max(1, Math.max(end, now) - start)
  return { past: steps(points, across), next: end > now ? steps(fading(memory, now, end), across) : "M0 0" }
}

/** @param {Memory} memory @param {number} now @param {number} end */
function fading(memory, now, end) {
  const weeks = Math.floor((memory.confidence - THRESHOLD) / 0.1 + 1e-9) + 1
  const points = [{ at: now, value: memory.confidence }]
  for (let n = 1; n <= weeks; n++)
    points.push({ at: end - (weeks - n) * WEEK_MS, value: Math.max(0, memory.confidence - 0.1 * n) })
  return points
}

/** @param {{at: number, value: number}[]} points @param {(at: number) => number} across */
function steps(points, across) {
  const [first, ...rest] = points
  return rest.reduce(
    (path, { at, value }) => `${path}H${across(at).toFixed(1)}V${down(value).toFixed(1)}`,
    `M${across(first.at).toFixed(1)} ${down(first.value).toFixed(1)}`,
  )
}
