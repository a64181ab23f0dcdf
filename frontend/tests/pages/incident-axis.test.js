import assert from "node:assert/strict"
import test from "node:test"
import "../late-texts.js"
import { compared, lanesOf, resultSpans, spanOf, treeOf, workWords } from "../../src/pages/incidents/axis.js"
import { outcomeWords, stateWords } from "../../src/pages/incidents/page.js"
import { incidents } from "../../src/pages/incidents/store.js"
import { NOON, fakeApi } from "../fakes.js"

const MINUTE = 60_000
const at = (minutes) => new Date(NOON + minutes * MINUTE).toISOString()
const session = (id, parent_id, from, to, more = {}) => ({
  ...{ id, parent_id, tier: id, outcome: "", status: "completed", cost_usd: null },
  ...{ started_at: at(from), ended_at: to === null ? null : at(to) },
  ...more,
})
const item = (kind, minutes, text, more = {}) => ({
  kind,
  at: at(minutes),
  text,
  level: "info",
  service: null,
  ...more,
})
const ONE = {
  ...{ id: 7, service: "db", title: "db: tcp fails", started_at: at(0), detected_at: at(1), resolved_at: at(10) },
  ...{ state: "resolved", outcome: "repaired", action: "restart" },
  members: [{ service: "db", joined_at: at(1), recovered_at: at(9), detail: "tcp: connection refused" }],
  sessions: [session(2, 1, 3, 8, { cost_usd: 0.5 }), session(1, null, 1, 3), session(3, 99, 4, 5)],
  timeline: [
    item("state", 2, "investigating"),
    item("action", 5, "restart: refused. cooling down"),
    item("action", 6, "restart: healthy again after 0.3 s. Confirmed", { service: "db" }),
    item("state", 6, "repairing"),
    item("event", 7, "slow", { level: "warning" }),
  ],
  memories_learned: [{}],
  memories_changed: [{ change: "confirmed" }, { change: "weakened" }],
}
const named = (name) => name.toUpperCase()

test("the time axis has a margin before the first failure and after the end", () => {
  assert.deepEqual(spanOf(ONE, NOON + 60 * MINUTE), { from: NOON - 5 * MINUTE, to: NOON + 15 * MINUTE })
  assert.deepEqual(spanOf({ ...ONE, resolved_at: null }, NOON + MINUTE).to, NOON + MINUTE)
})

test("each lane contains its bars up to the end of the incident", () => {
  const lanes = lanesOf(ONE, NOON + 60 * MINUTE, named)

  assert.deepEqual(
    lanes.map(({ name, bars }) => [name, bars.length]),
    [
      ["Failing", 1],
      ["State", 3],
      ["Sessions", 3],
      ["Actions", 2],
      ["Events", 1],
    ],
  )
  const states = lanes[1].bars.map(({ label, from, to }) => [label, (from - NOON) / MINUTE, (to - NOON) / MINUTE])
  assert.deepEqual(states, [
    ["OPEN", 1, 2],
    ["INVESTIGATING", 2, 6],
    ["REPAIRING", 6, 10],
  ])
})

test("single results become spans up to the next result, aggregates keep their length", () => {
  const points = [0, 1, 2].map((n) => ({ at: at(n), state: n ? "passed" : "failed", latency_ms: n || null }))
  const [first, second] = resultSpans({ points, aggregates: [] })

  assert.deepEqual([first.failures, first.p50, first.end], [1, null, second.at])
  const folded = { at: at(0), count: 5, failures: 1, p50_ms: 1, p95_ms: 2, max_ms: 3 }
  assert.equal(resultSpans({ points: [], aggregates: [folded] })[0].end, NOON + 5 * MINUTE)
})

test("sessions form a tree, even if a parent belongs to another incident", () => {
  assert.deepEqual(
    treeOf(ONE.sessions).map(({ session: { id }, depth }) => [id, depth]),
    [
      [1, 0],
      [2, 1],
      [3, 0],
    ],
  )
  assert.equal(workWords(ONE.sessions, NOON), "3 sessions, 8 min, $0.50")
  assert.equal(workWords([], NOON), "")
})

test("two incidents are compared by their key figures", () => {
  const quiet = { timeline: [], sessions: [], memories_learned: [], memories_changed: [] }
  const before = { ...ONE, ...quiet, resolved_at: at(40), repaired_at: at(30) }
  const rows = Object.fromEntries(
    compared(ONE, before, NOON, ({ resolved_at: end }) => end).map((row) => [row.key, [row.now, row.before]]),
  )

  assert.deepEqual(rows.detect, ["1 min", "1 min"])
  assert.deepEqual(rows.act, ["6 min", "–"])
  assert.deepEqual(rows.recover, ["10 min", "30 min"])
  assert.deepEqual(rows.confirmed, ["1", "0"])
  assert.deepEqual(rows.actions, ["restart: refused, restart: healthy again after 0.3 s", "none"])
  assert.deepEqual(rows.cause, ["tcp: connection refused", "tcp: connection refused"])
})

test("the previous incident is the latest earlier one of the same service", async () => {
  const row = (id, service, outcome = "repaired") => ({ id, service, outcome })
  const api = fakeApi({
    ...{ "/incidents/7": { ...ONE, note: "" }, "/services/db/series": { checks: [] }, "/incidents/3": { id: 3 } },
    "/incidents": { items: [row(9, "db"), row(6, "web"), row(5, "db", "merged"), row(3, "db")], next: null },
  })
  const store = incidents({ api, confirm: null, toasts: null, now: () => NOON })

  await store.visit(7)

  assert.equal(store.previous.id, 3)
  const { body } = api.asked.find(({ path }) => path === "/services/db/series")
  assert.equal(body.resolution, "raw")
})

test("the state of an open incident has the age of the incident, not of the state", () => {
  const row = { started_at: new Date(NOON).toISOString(), state: "waiting_for_approval" }
  assert.equal(outcomeWords(row, Date.parse(row.started_at) + 420_000), "waiting for approval, started 7 min ago")
  assert.equal(stateWords(row, NOON), "waiting for approval")
})
