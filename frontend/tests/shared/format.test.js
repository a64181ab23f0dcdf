import assert from "node:assert/strict"
import test from "node:test"
import { ago, duration, fadesOut, outlook, stateWords, tierWords, until } from "../../src/shared/format/format.js"
import { supervisorBrief, supervisorWords } from "../../src/shared/frame/supervisor.js"
import { theme } from "../../src/shared/frame/theme.js"
import { titleOf } from "../../src/shared/frame/navigation.js"
import { trend } from "../../src/pages/memory/trend.js"
import { NOON, fakeStorage, memory } from "../fakes.js"

const DAY = 86_400_000
const before = (ms) => new Date(NOON - ms).toISOString()

for (const [ms, words] of [
  [-5_000, "now"],
  [9_000, "now"],
  [40_000, "40 s"],
  [150_000, "2 min"],
  [3 * 3_600_000, "3 h"],
  [9 * DAY, "9 d"],
  [80 * DAY, "Oct 26, 2025"],
]) {
  test(`${ms} ms ago reads "${words}"`, () => assert.equal(ago(before(ms), NOON), words))
}

for (const [ms, words] of [
  [null, ""],
  [400, "0.4 s"],
  [42_100, "42 s"],
  [200_000, "3 min 20 s"],
  [120_000, "2 min"],
  [7_500_000, "2 h 5 min"],
]) {
  test(`a duration of ${ms} ms reads "${words}"`, () => assert.equal(duration(ms), words))
}

test("the supervisor status shows the time until the next round", () => {
  assert.equal(until(before(-48 * 60_000), NOON), "in 48 min")
  assert.equal(supervisorWords({ state: "idle", next_round_at: before(-48 * 60_000) }, NOON), "Next round in 48 min")
  assert.equal(supervisorWords({ state: "running" }, NOON), "A round is running")
  assert.equal(supervisorWords({ state: "away" }, NOON), "No supervisor is running")
  assert.equal(supervisorBrief({ state: "idle", next_round_at: before(-48 * 60_000) }, NOON), "Round in 48 min")
  assert.equal(supervisorBrief({ state: "idle", next_round_at: before(-1_000) }, NOON), "Round due")
  assert.equal(supervisorBrief({ state: "away" }, NOON), "No supervisor")
})

// 0.7 today: after the 30-day grace period, it loses 0.1 a week. 0.30 still counts as active; week five ends below it.
test("a memory fades out in the first week below 0.30", () => {
  const fresh = memory({ confidence: 0.7, updated_at: before(0) })

  assert.equal(fadesOut(fresh, NOON)?.getTime(), NOON + (30 + 5 * 7) * DAY)
})

test("weeks of decay that were already applied are not applied again", () => {
  const faded = memory({ confidence: 0.5, updated_at: before((30 + 15) * DAY) })

  assert.equal(fadesOut(faded, NOON)?.getTime(), NOON - 45 * DAY + (30 + (2 + 3) * 7) * DAY)
})

test("pinned memories, inactive memories and knowledge do not fade", () => {
  assert.equal(outlook(memory({ pinned: true }), NOON), "Pinned: its confidence does not fade.")
  assert.equal(outlook(memory({ category: "decision" }), NOON), "Knowledge does not fade.")
  assert.match(outlook(memory({ active: false }), NOON), /^Inactive/)
})

test("an inactive memory shows its reason", () => {
  assert.equal(stateWords(memory({ active: false, inactive_reason: "low" })), "inactive: below 0.30")
})

test("tier 0 reads as manual", () => {
  assert.deepEqual([0, 2].map(tierWords), ["manual", "tier 2, investigate"])
})

test("the confidence chart starts at the oldest value and ends with the forecast", () => {
  const { x, series } = trend(memory({ confidence: 0.7, updated_at: before(0) }), [], NOON)

  assert.ok(x.every((at, n) => n === 0 || at > x[n - 1]))
  assert.deepEqual(series[0].values.slice(0, 2), [0.7, 0.7])
  assert.deepEqual(
    series[1].values.slice(1, -1).map((value) => value.toFixed(2)),
    ["0.70", "0.60", "0.50", "0.40", "0.30", "0.20"],
  )
})

test("the theme cycles, and the system theme is not stored", () => {
  const storage = fakeStorage()
  const root = { dataset: {} }
  const store = theme({ root, storage })

  const seen = [1, 2, 3].map(() => (store.cycle(), [store.choice, root.dataset.theme]))

  assert.deepEqual(seen, [
    ["light", "light"],
    ["dark", "dark"],
    ["system", undefined],
  ])
  assert.deepEqual(storage.held, {})
})

test("the page title names the page", () => {
  assert.equal(titleOf({ page: "session", id: 42 }), "Session 42 · Lamplighter")
  assert.equal(titleOf({ page: "memories", id: null }), "Memories · Lamplighter")
})
