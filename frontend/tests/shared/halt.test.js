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

test("a halt sends its reason, and resuming requires confirmation", async () => {
  const { store, api, said } = opened({ "PUT /halt": stopped("row"), "DELETE /halt": FREE })
  await store.watch()

  store.show()
  store.reason = " the array rebuilds "
  await store.pull()
  assert.deepEqual([store.on, store.open, api.asked.at(-1).body], [true, false, { reason: "the array rebuilds" }])

  await store.release()
  assert.deepEqual([store.on, said], [false, ["Resumed."]])
})

test("a canceled confirmation does not resume", async () => {
  const { store, api } = opened({ "GET /halt": stopped("row") }, false)
  await store.load()

  await store.release()

  assert.deepEqual([store.on, api.asked.length], [true, 1])
})

test("a halt by file cannot be resumed in the app", async () => {
  const { store } = opened({ "GET /halt": stopped("file") })

  await store.load()

  assert.deepEqual([store.on, store.releasable, store.words], [true, false, "Halted by anna."])
})

test("a failed halt shows an error and keeps the reason", async () => {
  const { store } = opened({ "PUT /halt": new Error("The server cannot be reached.") })
  store.show()
  store.reason = "why"

  await store.pull()

  assert.deepEqual(
    [store.open, store.reason, store.problem],
    [true, "why", "Not halted. The server cannot be reached."],
  )
})
