import assert from "node:assert/strict"
import test from "node:test"
import { whatIf } from "../../src/pages/memory/what-if.js"
import { fakeApi, fakeTimers, memory } from "../fakes.js"

const TOLD = {
  text: "…",
  tokens: 150,
  budget: 2_000,
  included: [1, 2],
  excluded: [3],
  diff: { removed: [], added: [] },
}

function setUp(answer) {
  const api = fakeApi({ "/context": answer })
  const timers = fakeTimers()
  return { api, timers, store: whatIf({ api, later: timers.setTimeout }) }
}

test("the prompt without the memory is compared with the current prompt", async () => {
  const diff = { removed: ["- [timing] Takes 60s"], added: ["- [timing] Fits now"] }
  const { store, api } = setUp(({ exclude }) => (exclude ? { ...TOLD, diff } : TOLD))

  await store.show(memory())

  const { exclude, compare_to, budget, services } = api.asked.at(-1).body
  assert.deepEqual([exclude, compare_to, budget, services], [7, "now", 2_000, undefined])
  assert.deepEqual(
    store.lines.map(({ part: [{ kind, text }] }) => [kind, text]),
    [
      ["gone", "- [timing] Takes 60s"],
      ["new", "- [timing] Fits now"],
    ],
  )
  assert.equal(store.words, "2 of 3 memories, 150 of 2,000 tokens")
})

test("moving the budget slider sends one request when it stops", async () => {
  const { store, api, timers } = setUp(TOLD)
  await store.show(memory())
  const before = api.asked.length

  for (const budget of [1_900, 1_500, 1_000]) {
    store.budget = budget
    store.move("jellyfin")
  }
  await timers.ring()

  assert.deepEqual(
    api.asked.slice(before).map(({ body }) => body.budget),
    [1_000],
  )
})

test("a failed preview shows an error", async () => {
  const { store } = setUp(() => new Error("The server cannot be reached."))

  await store.show(memory())

  assert.deepEqual([store.phase, store.problem], ["failed", "The server cannot be reached."])
})
