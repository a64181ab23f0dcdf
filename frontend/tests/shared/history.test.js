import assert from "node:assert/strict"
import test from "node:test"
import { Problem } from "../../src/shared/api.js"
import { historyWords, otherChanges, textChange } from "../../src/shared/format/history.js"
import { steps } from "../../src/pages/memory/undo.js"
import { toasts } from "../../src/shared/parts/toasts.js"
import { fakeApi, fakeTimers, memory, fakeJournal } from "../fakes.js"

test("a line of history says what, by whom, how far and why", () => {
  const entry = { cause: "reinforced", actor: "session", session_id: 42, reason: "said again" }
  const moved = { before: { confidence: 0.7 }, after: { confidence: 0.8 } }

  assert.equal(historyWords({ ...entry, ...moved }), "Reinforced by session #42, 0.70 → 0.80: said again")
  assert.equal(
    historyWords({ cause: "edited", actor: "operator", reason: "", before: null, after: null }),
    "Edited by a person",
  )
})

test("an undo says what it took back", () => {
  const undo = { reason: "undoes edited of version 5", actor: "operator", before: null, after: null }

  assert.equal(historyWords({ ...undo, cause: "undone" }), "Reverted version 5 (edited) by a person")
  assert.equal(
    historyWords({ ...undo, cause: "review" }),
    "Resolved in a review by a person: reverts version 5 (edited)",
  )
})

test("an undo says what comes of it", () => {
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
  test(`${JSON.stringify(changes)} is "${words}"`, () => {
    assert.equal(otherChanges(became(changes)), words)
  })
}

test("an entry of long ago says what it holds, and no more", () => {
  const [before, after] = [{ ...IS }, { ...IS, active: false }].map(({ observation, confidence, active }) => ({
    ...{ observation, confidence, active },
  }))

  assert.equal(otherChanges({ before, after }), "became inactive")
})

test("a text that stayed has no difference to show", () => {
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

test("a step is reverted, and that can be undone", async () => {
  const { store, said, accepted, acts } = setUp({ "POST /memories/7/history/3/undo": memory({ version: 4 }) })

  await store.undo({ id: 3, cause: "edited", version: 2 })
  await said.undo(said.items[0])

  assert.deepEqual(
    accepted.map(({ version }) => version),
    [4],
  )
  assert.deepEqual(acts.undone, ["last"])
})

test("a step that a later one stands on is said at its place", async () => {
  const { store, accepted } = setUp({
    "POST /memories/7/history/3/undo": new Problem({ status: 409, detail: "Version 5 changed the same words." }),
  })

  await store.undo({ id: 3 })

  assert.deepEqual([store.refused, store.problem], [3, "Not reverted. Version 5 changed the same words."])
  assert.deepEqual(accepted, [])
})
