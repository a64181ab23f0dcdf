import assert from "node:assert/strict"
import test from "node:test"
import { Problem } from "../../src/shared/api.js"
import { addMemory } from "../../src/shared/memory-form/add-memory.js"
import { memory as panel } from "../../src/pages/memory/store.js"
import { similar } from "../../src/shared/memory-form/similar.js"
import { fakeApi, fakeStorage, fakeTimers, memory } from "../fakes.js"

const DRAFT = { category: "timing", service: "jellyfin", observation: "Takes a minute to start", confidence: 0.7 }
const SAME = { memory: memory(), label: "reinforce", sure: true, reason: "1 minute is 60s" }
const OTHER = { memory: memory({ id: 8 }), label: "contradict", sure: true, reason: "10 minutes" }

function setUp(answer = { items: [SAME] }) {
  const api = fakeApi({ "POST /memories/similar": answer })
  const timers = fakeTimers()
  return { api, timers, store: similar({ api, later: timers.setTimeout }) }
}

test("the input is compared once, after a pause in typing", async () => {
  const { store, api, timers } = setUp()

  store.follow({ ...DRAFT, observation: "Takes" })
  store.follow(DRAFT)
  assert.deepEqual(timers.delays, [300, 300])
  await timers.ring()

  const { category, service, observation } = DRAFT
  assert.deepEqual(
    api.asked.map(({ body }) => body),
    [{ category, service, observation }],
  )
  assert.deepEqual(store.items, [SAME])
})

test("each similar memory is described, and a summary lists them", () => {
  const { store } = setUp()
  store.items = [SAME, OTHER]
  assert.equal(store.words({ ...SAME, label: "new", sure: false }), "Memory 7 may conflict")
  assert.equal(store.sentence, "Memory 7 matches. Memory 8 conflicts.")
})

test("a change of an irrelevant field sends no request", async () => {
  const { store, api, timers } = setUp()
  store.follow(DRAFT)
  await timers.ring()

  store.follow({ ...DRAFT, confidence: 0.2 })

  assert.deepEqual(timers.delays, [])
  assert.equal(api.asked.length, 1)
})

test("a response for outdated input is dropped", async () => {
  let answer
  const { store, timers } = setUp(() => new Promise((resolve) => (answer = resolve)))
  store.follow(DRAFT)
  const asked = timers.ring()
  await Promise.resolve()

  store.follow({ ...DRAFT, observation: "Listens on port 8096" })
  answer({ items: [SAME] })
  await asked

  assert.deepEqual(store.items, [])
})

test("an empty input sends no request and shows nothing", async () => {
  const { store, api, timers } = setUp()
  store.follow(DRAFT)
  store.follow({ ...DRAFT, observation: "  " })
  await timers.ring()
  assert.deepEqual([api.asked, store.items], [[], []])
})

test("a failed comparison shows no error", async () => {
  const { store, timers } = setUp(new Problem({ status: 503 }))
  store.items = [SAME]
  store.follow(DRAFT)
  await timers.ring()
  assert.deepEqual(store.items, [])
})

test("a new memory is compared while typing, and the results clear when the form closes", async () => {
  const { store: beside, api, timers } = setUp()
  const form = addMemory({ api, memories: {}, toasts: {}, storage: fakeStorage(), beside })

  form.show(DRAFT)
  await timers.ring()
  assert.deepEqual(form.beside.items, [SAME])
  form.hide()

  assert.deepEqual(form.beside.items, [])
  assert.equal(form.draft.observation, DRAFT.observation)
})

test("an edited memory is compared with others only after its text changes", async () => {
  const { store: beside, api, timers } = setUp({ items: [OTHER] })
  const store = panel({ api, memories: { rows: [] }, beside })
  store.id = 7
  store.take(memory())

  store.draft.confidence = 0.2
  store.compare()
  await timers.ring()
  assert.deepEqual(api.asked, [])

  store.draft.observation = "Takes a minute to start"
  store.compare()
  await timers.ring()
  assert.equal(api.asked[0].body.without, 7)
  assert.deepEqual(store.beside.items, [OTHER])

  store.reset()
  assert.deepEqual(store.beside.items, [])
})
