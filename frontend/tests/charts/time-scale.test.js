import assert from "node:assert/strict"
import test from "node:test"
import { linePath, niceTop, spanAt, spansOf, timeTicks } from "../../src/charts/time-scale.js"
import { NOON } from "../fakes.js"

const HOUR = 3_600_000
const latency = { since: new Date(NOON).toISOString(), seconds: 3_600 }
const check = {
  ...{ at: [0, 1, 5], count: [60, 60, 60], failures: [0, 2, 0] },
  ...{ p50_ms: [10, 20, null], p95_ms: [30, 40, null], max_ms: [50, 60, null] },
}

test("columns become time spans", () => {
  const spans = spansOf(latency, check)

  assert.deepEqual(spans[2], {
    ...{ at: NOON + 5 * HOUR, end: NOON + 6 * HOUR, p50: null, p95: null, max: null },
    ...{ count: 60, failures: 0 },
  })
})

test("a line has a gap where spans are missing", () => {
  const spans = spansOf(latency, { ...check, p50_ms: [10, 20, 30] })
  const path = linePath(
    spans,
    "p50",
    (at) => (at - NOON) / HOUR,
    (ms) => ms,
  )

  assert.equal(path, "M0.5 10.0h0.1L1.5 20.0M5.5 30.0h0.1")
})

for (const [most, top] of [
  [0, 10],
  [12, 20],
  [50, 50],
  [51, 100],
  [1_300, 2_000],
])
  test(`an axis up to ${most} ends at ${top}`, () => assert.equal(niceTop(most), top))

test("a time axis has 2 to 7 ticks", () => {
  for (const hours of [1, 24, 24 * 7, 24 * 90]) {
    const ticks = timeTicks(NOON - hours * HOUR, NOON + 7_000, 6)
    assert.ok(ticks.length >= 2 && ticks.length <= 7, `${hours}: ${ticks.length}`)
  }
})

test("the span nearest to a time is returned", () => {
  const spans = spansOf(latency, check)

  assert.deepEqual([spanAt(spans, NOON - HOUR), spanAt(spans, NOON + 5 * HOUR), spanAt([], NOON)], [0, 2, -1])
})
