import assert from "node:assert/strict"
import test from "node:test"
import { addMemory } from "../src/stores/add-memory.js"
import { confirm } from "../src/stores/confirm.js"
import { curate } from "../src/stores/curate.js"
import { toasts } from "../src/stores/toasts.js"
import { fakeApi, fakeStorage, fakeTimers, memory } from "./fakes.js"

const BACK = memory({ id: 99 })

function setUp(answers = {}) {
  const api = fakeApi({ "DELETE /memories/7": null, "POST /memories": BACK, ...answers })
  const said = toasts({ timers: fakeTimers() })
  const list = {
    rows: [],
    dropped: [],
    put: (row) => list.rows.push(row),
    drop: (id) => list.dropped.push(id),
    tallySoon() {},
  }
  const asker = confirm()
  return { api, said, list, asker, store: curate({ api, memories: list, confirm: asker, toasts: said }) }
}

test("deleting asks once and offers the way back", async () => {
  const { store, asker, list, said } = setUp()

  const deleted = store.remove(memory())
  assert.equal(asker.title, "Delete this memory?")
  asker.answer(true)

  assert.equal(await deleted, true)
  assert.deepEqual(list.dropped, [7])
  assert.equal(said.items[0].undoable, true)
})

test("a no deletes nothing", async () => {
  const { store, asker, api } = setUp()

  const deleted = store.remove(memory())
  asker.answer(false)

  assert.equal(await deleted, false)
  assert.deepEqual(api.asked, [])
})

test("undo writes the memory again as it was", async () => {
  const { store, asker, api, said, list } = setUp()
  const deleted = store.remove(memory())
  asker.answer(true)
  await deleted

  await said.undo(said.items[0])

  const { category, observation, service, confidence, title, tags } = memory()
  assert.deepEqual(api.asked.at(-1).body, { category, observation, service, confidence, title, tags })
  assert.deepEqual(list.rows, [BACK])
})

test("a deletion that failed is said, and nothing leaves the list", async () => {
  const { store, asker, list, said } = setUp({ "DELETE /memories/7": new Error("The server cannot be reached.") })

  const deleted = store.remove(memory())
  asker.answer(true)
  await deleted

  assert.deepEqual(list.dropped, [])
  assert.equal(said.items[0].text, "Nothing was changed. The server cannot be reached.")
})

function writing(answers, held) {
  const storage = fakeStorage(held)
  const list = { rows: [], put: (row) => list.rows.push(row) }
  const store = addMemory({ api: fakeApi(answers), memories: list, toasts: toasts({ timers: fakeTimers() }), storage })
  return { store, storage, list }
}

test("a memory that could not be written is kept, over a reload too", async () => {
  const { store, storage } = writing({ "POST /memories": new Error("The store is busy.") })
  store.show({ observation: "Logs rotate at noon" })

  await store.save()
  const { store: reloaded } = writing({}, storage.held)

  assert.equal(store.open, true)
  assert.equal(store.problem, "Not saved. The store is busy. What you typed is still here.")
  assert.equal(reloaded.draft.observation, "Logs rotate at noon")
})

test("a memory that was written leaves no draft", async () => {
  const { store, storage, list } = writing({ "POST /memories": BACK })
  store.show({ observation: "Logs rotate at noon" })

  await store.save()

  assert.deepEqual([store.open, store.draft.observation, storage.held], [false, "", {}])
  assert.deepEqual(list.rows, [BACK])
})

test("a refusal stands at its field", async () => {
  const refusal = Object.assign(new Error(""), { errors: [{ field: "category", message: "unknown category misc" }] })
  const { store } = writing({ "POST /memories": refusal })
  store.show({ observation: "Odd", category: "misc" })

  await store.save()

  assert.deepEqual(store.errors, { category: "unknown category misc" })
})

test("nothing to remember is not sent", async () => {
  const { store } = writing({})

  await store.save()

  assert.deepEqual(store.errors, { observation: "Write what is to be remembered." })
})
