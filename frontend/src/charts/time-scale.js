import { dayOf, momentOf, timeOf } from "../shared/format/format.js"

/** @typedef {import("./time-chart.js").Span} Span */
const HOUR = 3_600_000
const STEPS = [
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * 60_000),
  ...[1, 2, 3, 6, 12].map((hours) => hours * HOUR),
  ...[1, 2, 7, 14, 30].map((days) => days * 24 * HOUR),
]

/**
 * The smallest round maximum (1, 2 or 5 times a power of ten) of an axis from 0 that fits a value.
 * @param {number} highest
 */
export function niceTop(highest) {
  if (highest <= 10) return 10
  const power = 10 ** Math.floor(Math.log10(highest))
  return /** @type {number} */ ([1, 2, 5, 10].find((candidate) => candidate * power >= highest)) * power
}

/**
 * A few round times between two times, with their labels: dates if the range spans days.
 * @param {number} from
 * @param {number} to
 * @param {number} maxTicks
 */
export function timeTicks(from, to, maxTicks) {
  const step = STEPS.find((candidate) => (to - from) / candidate <= Math.max(2, maxTicks)) ?? STEPS[STEPS.length - 1]
  const zone = new Date(from).getTimezoneOffset() * 60_000
  const first = Math.ceil((from - zone) / step) * step + zone
  const format = step >= 24 * HOUR ? dayOf : to - from > 24 * HOUR ? momentOf : timeOf
  const isInside = (/** @type {number} */ at) => at - from > (to - from) * 0.02 && to - at > (to - from) * 0.04
  return Array.from({ length: Math.max(0, Math.floor((to - first) / step) + 1) }, (_, n) => first + n * step)
    .filter(isInside)
    .map((at) => ({ at, words: format(at) }))
}

/**
 * A line through the middle of the spans, with gaps where nothing was measured.
 * @param {Span[]} spans @param {"p50" | "p95"} name @param {(at: number) => number} x @param {(ms: number) => number} y
 */
export function linePath(spans, name, x, y) {
  let lastEnd = -1
  return spans
    .map((span) => {
      const ms = span[name]
      if (ms === null) return ""
      const isAdjacent = span.at - lastEnd <= (span.end - span.at) / 2
      const point = `${x((span.at + span.end) / 2).toFixed(1)} ${y(ms).toFixed(1)}`
      lastEnd = span.end
      return isAdjacent ? `L${point}` : `M${point}h0.1`
    })
    .join("")
}

/** The span nearest to a time. @param {Span[]} spans @param {number} at */
export function spanAt(spans, at) {
  let nearest = -1
  let shortest = Infinity
  spans.forEach((span, n) => {
    const distance = Math.abs((span.at + span.end) / 2 - at)
    if (distance < shortest) [nearest, shortest] = [n, distance]
  })
  return nearest
}

/**
 * The spans of a check, from the columns of the API.
 * @param {Latency} latency
 * @param {CheckLatency} check
 * @returns {Span[]}
 */
export function spansOf({ since, seconds }, { at, count, failures, p50_ms: p50, p95_ms: p95, max_ms: max }) {
  const start = Date.parse(since)
  return at.map((n, index) => ({
    at: start + n * seconds * 1_000,
    end: start + (n + 1) * seconds * 1_000,
    p50: p50[index],
    p95: p95[index],
    max: max[index],
    count: count[index],
    failures: failures[index],
  }))
}
