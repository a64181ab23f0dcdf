import assert from "node:assert/strict"
import test from "node:test"
import { Problem } from "../src/api.js"
import { draftOf, edits, memory as panel, payload } from "../src/stores/memory.js"
import { change, fakeApi, memory } from "./fakes.js"

async function opened(answers = {}) {
  const put = []
  const list = { rows: [], put: (row) => put.push(row) }
  const api = fakeApi({
    "GET /memories/7": () => memory(),
    "/memories/7/history": { items: [], next: null, seq: 1 },
    "/context": { included: [], excluded: [{ id: 7, why: "does not fit the budget" }] },
    ...answers,
  })
  const store = panel({ api, memories: list })
  await store.visit(7)
  return { store, api, put, list, patches: () => api.asked.filter(({ method }) => method === "PATCH") }
}

test("only what differs travels", () => {
  assert.deepEqual(edits({ ...draftOf(memory()), confidence: 0.5 }, memory()), { confidence: 0.5 })
  assert.deepEqual(edits(draftOf(memory()), memory()), {})
})

for (const typed of ["", "  ", "general", "General"]) {
  test(`"${typed}" as a service means none`, () => {
    assert.equal(payload({ ...draftOf(memory()), service: typed }).service, null)
  })
}

test("an edit is saved on the version it was made on", async () => {
  const { store, patches, put } = await opened({
    "PATCH /memories/7": memory({ observation: "Takes 90s", version: 2 }),
  })
  store.draft.observation = "Takes 90s"

  const saved = await store.save()

  assert.equal(saved, true)
  assert.deepEqual(patches()[0], {
    method: "PATCH",
    path: "/memories/7",
    body: { observation: "Takes 90s" },
    version: "7-1",
  })
  assert.equal(put[0].version, 2)
  assert.equal(store.dirty, false)
})

test("a change that arrives while one types leaves the typing alone, and the save is a conflict", async () => {
  const theirs = memory({ observation: "Takes 10s", confidence: 0.8, version: 2 })
  const { store, patches } = await opened({ "PATCH /memories/7": new Problem({ status: 412, current: theirs }) })
  store.draft.observation = "Takes 90s"

  store.follow(change("updated", theirs))
  await store.save()

  assert.equal(store.draft.observation, "Takes 90s")
  assert.equal(patches()[0].version, "7-1")
  assert.deepEqual(store.differences, [{ name: "observation", mine: "Takes 90s", theirs: "Takes 10s" }])
})

test("keeping mine saves my fields on their version", async () => {
  const theirs = memory({ observation: "Takes 10s", version: 5 })
  const answers = [new Problem({ status: 412, current: theirs }), memory({ observation: "Takes 90s", version: 6 })]
  const { store, patches } = await opened({ "PATCH /memories/7": () => answers.shift() })
  store.draft.observation = "Takes 90s"
  await store.save()

  await store.keepMine()

  assert.deepEqual(patches()[1].body, { observation: "Takes 90s" })
  assert.equal(patches()[1].version, "7-5")
  assert.equal(store.theirs, null)
})

test("taking theirs gives up what was typed", async () => {
  const theirs = memory({ observation: "Takes 10s", version: 5 })
  const { store } = await opened({ "PATCH /memories/7": new Problem({ status: 412, current: theirs }) })
  store.draft.observation = "Takes 90s"
  await store.save()

  store.takeTheirs()

  assert.equal(store.draft.observation, "Takes 10s")
  assert.equal(store.dirty, false)
})

test("a failure keeps what was typed and says so", async () => {
  const { store } = await opened({ "PATCH /memories/7": new Problem({ detail: "The server cannot be reached." }) })
  store.draft.observation = "Takes 90s"

  await store.save()

  assert.equal(store.draft.observation, "Takes 90s")
  assert.equal(store.problem, "Not saved. The server cannot be reached. What you typed is still here.")
})

test("what was typed is still there after looking at another memory", async () => {
  const { store } = await opened({ "GET /memories/8": memory({ id: 8 }), "/memories/8/history": { items: [] } })
  store.draft.observation = "Takes 90s"

  await store.visit(8)
  await store.visit(7)

  assert.equal(store.draft.observation, "Takes 90s")
  assert.equal(store.dirty, true)
})

test("a live change shows in fields nobody has touched", async () => {
  const { store } = await opened()

  store.follow(change("updated", memory({ confidence: 0.8, version: 2 })))

  assert.equal(store.draft.confidence, 0.8)
})

test("why a memory is not in the next prompt is said", async () => {
  const { store } = await opened()

  assert.equal(store.lineNote, "It is not in the next prompt: does not fit the budget.")
})

test("an unknown number is missing, not broken", async () => {
  const { store } = await opened({
    "GET /memories/7": new Problem({ status: 404, detail: "No memory has this number." }),
  })

  assert.equal(store.phase, "missing")
})
