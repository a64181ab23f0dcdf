import assert from "node:assert/strict"
import test from "node:test"
import "../late-texts.js"
import { memoryHealth, trendWords } from "../../src/pages/health/memory.js"
import { NOON, fakeApi } from "../fakes.js"

const AT = new Date(NOON).toISOString()
const DAY = 86_400_000
const finding = (name, action = null) => ({ name, state: "ok", value: 1, goal: "under 9", words: "1 thing", action })
const point = (days, value) => ({
  at: new Date(NOON - days * DAY).toISOString(),
  values: { drift: value, duplicates: value },
})
const answer = (findings, calibration = []) => ({
  measurement: { at: AT, compared_at: AT, findings },
  trend: [],
  calibration,
})

function opened(answers) {
  const api = fakeApi(answers)
  const said = []
  const toasts = { show: (text) => said.push(text) }
  return { api, said, store: memoryHealth({ api, toasts, clock: { now: NOON }, wait: async () => {} }) }
}

test("each figure has a goal and at most one action", async () => {
  const { store } = opened({
    "/memory-health": answer([finding("undistilled", "organize"), finding("reviews", "reviews"), finding("drift")]),
  })

  await store.load()

  assert.deepEqual(
    store.rows.map(({ title, text, goalWords, label, address }) => [title, text, goalWords, label, address]),
    [
      ["Not distilled", "1 thing.", "Goal: under 9.", "Run the organizer", ""],
      ["Open reviews", "1 thing.", "Goal: under 9.", "Open reviews", "/reviews"],
      ["Drift score", "1 thing.", "Goal: under 9.", "", ""],
    ],
  )
  assert.equal(store.comparedWords, "")
})

test("confidence ranges are compared with their confirmation rates", async () => {
  const group = { confirmed: 6, contradicted: 2, share: 0.75, interval: [0.45, 0.902] }
  const { store } = opened({
    "/memory-health": answer(
      [],
      [
        { low: 0.7, high: 0.8, ...group },
        { low: 1, high: 1, ...group },
      ],
    ),
  })

  await store.load()

  assert.deepEqual(
    store.calibrated.map(({ range, width, words }) => [range, width, words]),
    [
      ["0.7 to 0.8", "75", "confirmed 6 of 8: 75% (90% interval 45 to 90%)"],
      ["1.0", "75", "confirmed 6 of 8: 75% (90% interval 45 to 90%)"],
    ],
  )
})

test("the page waits for the organizer and measures its result", async () => {
  const { store, api, said } = opened({
    "/organizer/runs": { id: 4, state: "queued" },
    "/organizer/runs/4": { state: "completed", counts: { duplicates: 2, compressed: 1200 } },
    "/memory-health/measurements": answer([]),
  })

  await store.act("organize")

  assert.deepEqual(said, ["Organizer finished. Duplicates set aside: 2. Episodes compressed: 1,200."])
  assert.equal(api.asked.length, 3)
  assert.equal(store.phase, "ready")
  assert.equal(store.busy, "")
})

test("a refused action shows an error and clears the busy state", async () => {
  const { store, said } = opened({ "/verification": new Error("Access denied.") })

  await store.act("verify")

  assert.deepEqual([said, store.busy], [["Not done. Access denied."], ""])
})

test("the trend compares with the first measurement", () => {
  assert.equal(trendWords([point(7, 3)], "drift", NOON), "")
  assert.equal(trendWords([point(7, 3), point(0, 3)], "drift", NOON), "Same as 7 d ago.")
  assert.equal(trendWords([point(7, 0.061), point(0, 0)], "duplicates", NOON), "Was 6.1% (7 d ago).")
})
