import assert from "node:assert/strict"
import test from "node:test"
import { halt } from "../../src/shared/dialogs/halt.js"
import { fakeApi } from "../fakes.js"

const FREE = { halted: false, pulled: [], seq: 1 }
const by = (way) => ({ way, reason: "", by: "anna", at: "", words: "Halted by anna.", release: "Remove it." })
const stopped = (...ways) => ({ halted: true, pulled: ways.map(by), seq: 2 })

function opened(answers, sure = true) {
  const said = []
  const api = fakeApi({ "GET /halt": FREE, ...answers })
  const toasts = { show: (text) => said.push(text) }
  return { api, said, store: halt({ api, toasts, confirm: { ask: async () => sure }, later: () => {} }) }
}

test("everything is stopped with a reason, and let go on when one is sure", async () => {
  const { store, api, said } = opened({ "PUT /halt": stopped("row"), "DELETE /halt": FREE })
  await store.watch()

  store.show()
  store.reason = " the array rebuilds "
  await store.pull()
  assert.deepEqual([store.on, store.open, api.asked.at(-1).body], [true, false, { reason: "the array rebuilds" }])

  await store.release()
  assert.deepEqual([store.on, said], [false, ["Resumed."]])
})

test("one who is not sure changes nothing", async () => {
  const { store, api } = opened({ "GET /halt": stopped("row") }, false)
  await store.load()

  await store.release()

  assert.deepEqual([store.on, api.asked.length], [true, 1])
})

test("what a file stopped cannot be let go on from here", async () => {
  const { store } = opened({ "GET /halt": stopped("file") })

  await store.load()

  assert.deepEqual([store.on, store.releasable, store.words], [true, false, "Halted by anna."])
})

test("a stop that fails says why and keeps the words", async () => {
  const { store } = opened({ "PUT /halt": new Error("The server cannot be reached.") })
  store.show()
  store.reason = "why"

  await store.pull()

  assert.deepEqual(
    [store.open, store.reason, store.problem],
    [true, "why", "Not halted. The server cannot be reached."],
  )
})
