import assert from "node:assert/strict"
import test from "node:test"
import { Problem } from "../../src/shared/api.js"
import { historyWords, otherChanges, textChange } from "../../src/shared/format/history.js"
import { steps } from "../../src/pages/memory/undo.js"
import { toasts } from "../../src/shared/parts/toasts.js"
import { fakeApi, fakeTimers, memory, fakeJournal } from "../fakes.js"

test("a history entry shows the action, actor, confidence change and reason", () => {
  const entry = { cause: "reinforced", actor: "session", session_id: 42, reason: "said again" }
  const moved = { before: { confidence: 0.7 }, after: { confidence: 0.8 } }

  assert.equal(historyWords({ ...entry, ...moved }), "Reinforced by session #42, 0.70 → 0.80: said again")
  assert.equal(
    historyWords({ cause: "edited", actor: "operator", reason: "", before: null, after: null }),
    "Edited by a person",
  )
})

test("an undo names the reverted version", () => {
  const undo = { reason: "undoes edited of version 5", actor: "operator", before: null, after: null }

  assert.equal(historyWords({ ...undo, cause: "undone" }), "Reverted version 5 (edited) by a person")
  assert.equal(
    historyWords({ ...undo, cause: "review" }),
    "Resolved in a review by a person: reverts version 5 (edited)",
  )
})

test("an undo states its consequence", () => {
  const undo = { cause: "undone", actor: "operator", before: null, after: null }

  assert.equal(
    historyWords({ ...undo, reason: "undoes faded of version 5; it fades again" }),
    "Reverted version 5 (faded) by a person: it fades again",
  )
})

const IS = { observation: "Takes 60s", confidence: 0.7, active: true, category: "timing", service: "jellyfin" }
const became = (changes) => ({ before: IS, after: { ...IS, ...changes } })

const CHANGES = [
  [{}, ""],
  [{ category: "behavior" }, "category timing → behavior"],
  [{ service: null }, "service jellyfin → general"],
  [{ pinned: true }, "pinned"],
  [{ active: false, inactive_reason: "superseded" }, "became inactive: superseded"],
  [
    { category: "behavior", active: false, inactive_reason: "low" },
    "category timing → behavior · became inactive: below 0.30",
  ],
]
for (const [changes, words] of CHANGES) {
  test(`the change ${JSON.stringify(changes)} reads "${words}"`, () => {
    assert.equal(otherChanges(became(changes)), words)
  })
}

test("an old entry shows only the fields that it has", () => {
  const [before, after] = [{ ...IS }, { ...IS, active: false }].map(({ observation, confidence, active }) => ({
    ...{ observation, confidence, active },
  }))

  assert.equal(otherChanges({ before, after }), "became inactive")
})

test("an unchanged text has no diff", () => {
  assert.deepEqual(textChange(became({ confidence: 0.8 })), [])
  assert.equal(textChange(became({ observation: "Takes 10s" })).length, 3)
})

function setUp(answers) {
  const api = fakeApi(answers)
  const said = toasts({ timers: fakeTimers() })
  const accepted = []
  const acts = fakeJournal()
  const store = steps({ api, memory: { id: 7, accept: (row) => accepted.push(row) }, toasts: said, journal: acts })
  return { api, said, accepted, store, acts }
}

test("a history entry can be reverted, and the revert undone", async () => {
  const { store, said, accepted, acts } = setUp({ "POST /memories/7/history/3/undo": memory({ version: 4 }) })

  await store.undo({ id: 3, cause: "edited", version: 2 })
  await said.undo(said.items[0])

  assert.deepEqual(
    accepted.map(({ version }) => version),
    [4],
  )
  assert.deepEqual(acts.undone, ["last"])
})

test("a refused revert shows its reason at the entry", async () => {
  const { store, accepted } = setUp({
    "POST /memories/7/history/3/undo": new Problem({ status: 409, detail: "Version 5 changed the same words." }),
  })

  await store.undo({ id: 3 })

  assert.deepEqual([store.refused, store.problem], [3, "Not reverted. Version 5 changed the same words."])
  assert.deepEqual(accepted, [])
})
