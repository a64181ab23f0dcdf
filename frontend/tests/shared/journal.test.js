import assert from "node:assert/strict"
import test from "node:test"

import { journal } from "../../src/shared/stores/journal.js"
import { toasts } from "../../src/shared/parts/toasts.js"
import { fakeApi, fakeTimers } from "../fakes.js"

const ACT = { action: "edit", memory_id: 7, review_id: null, service: null }

/** @param {Record<string, any>} answers */
function setUp(answers) {
  const api = fakeApi(answers)
  const said = toasts({ timers: fakeTimers() })
  const heard = []
  const store = journal({ api, toasts: said })
  store.onUndone((undone) => heard.push(undone))
  return { api, said, heard, store }
}

/** @param {object} changes */
const undone = (changes = {}) => ({ act: 9, undoes: { ...ACT, ...changes }, changed: 1, left: 0 })

test("undo reverts the latest act first, each act once", async () => {
  const { store, api, said, heard } = setUp({
    "POST /acts/3/undo": undone({ action: "delete" }),
    "POST /acts/4/undo": undone(),
  })
  store.note(3, "/memories/7")
  store.note(4, "/memories/7")
  store.note(9, "/acts/4/undo")

  for (let times = 0; times < 3; times++) await store.undoLast()

  assert.deepEqual(
    api.asked.map(({ path }) => path),
    ["/acts/4/undo", "/acts/3/undo"],
  )
  assert.deepEqual(
    said.items.map(({ text }) => text),
    ["Reverted the edit of memory 7.", "Restored memory 7.", "Nothing to undo."],
  )
  assert.deepEqual(
    heard.map(({ action }) => action),
    ["edit", "delete"],
  )
})

test("the undo of a toast reverts its own act", async () => {
  const { store, api } = setUp({ "POST /acts/3/undo": undone({ memory_id: null, review_id: 5 }) })
  store.note(3, "/reviews/5/resolution")
  const undo = store.undoing()
  store.note(4, "/memories/7")

  await undo()

  assert.equal(api.asked[0].path, "/acts/3/undo")
})

test("a conflict is named, and the rest can be undone", async () => {
  const refusal = Object.assign(
    new Error("Nothing was undone. Memory 8 was later edited by the operator (version 3). The rest can be undone."),
    { status: 409 },
  )
  const { store, said } = setUp({
    "POST /acts/3/undo": (body) => {
      if (!body.partly) throw refusal
      return { ...undone({ action: "delete", memory_id: null }), changed: 4, left: 1 }
    },
  })
  store.note(3, "/memories/bulk")

  await store.undoLast()
  const [{ text, bad, verb }] = said.items
  await said.undo(said.items[0])

  assert.deepEqual([text, bad, verb], [`Not undone. ${refusal.message}`, true, "Undo the rest"])
  assert.equal(said.items.at(-1).text, "Restored 4 memories. 1 changed since and was not reverted.")
})

test("an act that cannot be partly undone offers no partial undo", async () => {
  const refusal = Object.assign(new Error("Incident 2 was changed since. Change it instead."), { status: 409 })
  const { store, said } = setUp({ "POST /acts/3/undo": () => Promise.reject(refusal) })
  store.note(3, "/incidents/2")

  await store.undoLast()

  assert.deepEqual([said.items.length, said.items[0].undo ?? null], [1, null])
})

test("a request that recorded no act offers no undo", () => {
  const { store } = setUp({})
  store.note(3, "/incidents/2")

  assert.equal(typeof store.undoing(), "function")
  assert.equal(store.undoing(store.count), undefined)
})
