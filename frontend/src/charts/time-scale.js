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
 * @param {number} most
 */
export function niceTop(most) {
  if (most <= 10) return 10
  const power = 10 ** Math.floor(Math.log10(most))
  return /** @type {number} */ ([1, 2, 5, 10].find((each) => each * power >= most)) * power
}

/**
 * A few round times between two times, with their labels: dates if the range spans days.
 * @param {number} from
 * @param {number} to
 * @param {number} most
 */
export function timeTicks(from, to, most) {
  const step = STEPS.find((each) => (to - from) / each <= Math.max(2, most)) ?? STEPS[STEPS.length - 1]
  const zone = new Date(from).getTimezoneOffset() * 60_000
  const first = Math.ceil((from - zone) / step) * step + zone
  const words = step >= 24 * HOUR ? dayOf : to - from > 24 * HOUR ? momentOf : timeOf
  const inner = (/** @type {number} */ at) => at - from > (to - from) * 0.02 && to - at > (to - from) * 0.04
  return Array.from({ length: Math.max(0, Math.floor((to - first) / step) + 1) }, (_, n) => first + n * step)
    .filter(inner)
    .map((at) => ({ at, words: words(at) }))
}

/**
 * A line through the middle of the spans, with gaps where nothing was measured.
 * @param {Span[]} spans @param {"p50" | "p95"} name @param {(at: number) => number} x @param {(ms: number) => number} y
 */
export function linePath(spans, name, x, y) {
  let last = -1
  return spans
    .map((span) => {
      const ms = span[name]
      if (ms === null) return ""
      const next = span.at - last <= (span.end - span.at) / 2
      const point = `${x((span.at + span.end) / 2).toFixed(1)} ${y(ms).toFixed(1)}`
      last = span.end
      return next ? `L${point}` : `M${point}h0.1`
    })
    .join("")
}

/** The span nearest to a time. @param {Span[]} spans @param {number} at */
export function spanAt(spans, at) {
  let best = -1
  let least = Infinity
  spans.forEach((span, n) => {
    const far = Math.abs((span.at + span.end) / 2 - at)
    if (far < least) [best, least] = [n, far]
  })
  return best
}

/**
 * The spans of a check, from the columns of the API.
 * @param {Latency} latency
 * @param {CheckLatency} check
 * @returns {Span[]}
 */
export function spansOf({ since, seconds }, { at, count, failures, p50_ms: p50, p95_ms: p95, max_ms: max }) {
  const start = Date.parse(since)
  return at.map((n, place) => ({
    at: start + n * seconds * 1_000,
    end: start + (n + 1) * seconds * 1_000,
    p50: p50[place],
    p95: p95[place],
    max: max[place],
    count: count[place],
    failures: failures[place],
  }))
}
