import assert from "node:assert/strict"
import test from "node:test"
import { Problem } from "../../src/shared/api.js"
import { draftOf, edits, memory as panel, payload } from "../../src/pages/memory/store.js"
import { drafts } from "../../src/shared/memory-form/drafts.js"
import { conflict } from "../../src/pages/memory/conflict.js"
import { NOON, change, fakeApi, fakeStorage, memory } from "../fakes.js"

const stale = (current) => new Problem({ status: 412, current })

async function opened(answers = {}, storage = fakeStorage()) {
  const said = []
  const asked = conflict()
  const put = []
  const list = { rows: [], put: (row) => put.push(row) }
  const api = fakeApi({
    "GET /memories/7": () => memory(),
    "/memories/7/history": { items: [], next: null, seq: 1 },
    "/memories/7/prompt": {
      included: false,
      words: "Below the budget line.",
      ways: [{ words: "a budget of 90 tokens" }],
    },
    ...answers,
  })
  const store = panel({
    api,
    memories: list,
    drafts: drafts({ storage, now: () => NOON }),
    conflict: asked,
    toasts: { show: (text) => said.push(text) },
  })
  await store.visit(7)
  return { store, api, put, list, said, asked, patches: () => api.asked.filter(({ method }) => method === "PATCH") }
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

test("where only different fields changed, the edit goes on top and says what else had changed", async () => {
  const theirs = memory({ confidence: 0.8, category: "behavior", version: 2 })
  const answers = [stale(theirs), memory({ ...theirs, observation: "Takes 90s", version: 3 })]
  const { store, patches, said } = await opened({ "PATCH /memories/7": () => answers.shift() })
  store.draft.observation = "Takes 90s"

  const saved = await store.save()

  assert.equal(saved, true)
  assert.deepEqual(
    patches().map(({ body, version }) => [body, version]),
    [
      [{ observation: "Takes 90s" }, "7-1"],
      [{ observation: "Takes 90s" }, "7-2"],
    ],
  )
  assert.deepEqual(said, [
    "Saved. Someone else changed the category (timing → behavior) and the confidence (0.70 → 0.80) meanwhile. That change is kept.",
  ])
  assert.deepEqual([store.dirty, store.row.version, store.draft.confidence], [false, 3, 0.8])
})

test("the same edit by somebody else is no conflict and needs no second one", async () => {
  const theirs = memory({ observation: "Takes 90s", version: 2 })
  const { store, patches } = await opened({ "PATCH /memories/7": stale(theirs) })
  store.draft.observation = "Takes 90s"

  assert.equal(await store.save(), true)

  assert.deepEqual([patches().length, store.dirty, store.row.version], [1, false, 2])
})

test("where both changed the same field a person is asked, and what was typed stays", async () => {
  const theirs = memory({ observation: "Takes 10s", version: 2 })
  const { store, asked } = await opened({ "PATCH /memories/7": stale(theirs) })
  store.draft.observation = "Takes 90s"

  store.follow(change("updated", theirs))
  const saved = await store.save()

  assert.equal(saved, false)
  assert.equal(asked.open, true)
  assert.deepEqual(
    asked.fields.map(({ name, was, mine }) => [name, was, mine]),
    [["observation", "Takes 60s to start after restart", "Takes 90s"]],
  )
  asked.hide()
  assert.deepEqual([store.draft.observation, store.dirty], ["Takes 90s", true])
})

for (const [choice, text, body] of [
  ["mine", "", { observation: "Takes 90s", confidence: 0.5 }],
  ["theirs", "", { confidence: 0.5 }],
  ["merged", "Takes 10s to 90s ", { observation: "Takes 10s to 90s", confidence: 0.5 }],
]) {
  test(`what stands is saved on their version: ${choice}`, async () => {
    const theirs = memory({ observation: "Takes 10s", version: 5 })
    const row = memory({ ...theirs, ...body, version: 6 })
    const answers = [stale(theirs), row]
    const { store, patches, asked } = await opened({ "PATCH /memories/7": () => answers.shift() })
    Object.assign(store.draft, { observation: "Takes 90s", confidence: 0.5 })
    await store.save()
    Object.assign(asked.fields[0], { choice, ...(text && { text }) })

    await asked.submit()

    assert.deepEqual([patches()[1].body, patches()[1].version], [body, "7-5"])
    assert.deepEqual([store.dirty, store.row.version, asked.open], [false, 6, false])
  })
}

test("when theirs stands there is nothing to send", async () => {
  const theirs = memory({ observation: "Takes 10s", version: 5 })
  const { store, patches, asked } = await opened({ "PATCH /memories/7": stale(theirs) })
  store.draft.observation = "Takes 90s"
  await store.save()
  asked.all("theirs")

  await asked.submit()

  assert.deepEqual([patches().length, store.draft.observation, store.dirty], [1, "Takes 10s", false])
})

test("an answer that comes after the feed told of a later change does not take it back", async () => {
  const later = memory({ observation: "Takes 10s", confidence: 0.9, version: 3 })
  const { store } = await opened({
    "PATCH /memories/7": () => {
      store.follow(change("updated", later))
      return memory({ confidence: 0.9, version: 2 })
    },
  })
  store.draft.confidence = 0.9

  await store.save()

  assert.deepEqual([store.row.version, store.draft.observation, store.dirty], [3, "Takes 10s", false])
})

test("an edit made elsewhere on the page leaves what is typed in the panel", async () => {
  const { store } = await opened({ "PATCH /memories/7": memory({ confidence: 0.9, version: 2 }) })
  store.draft.observation = "Takes 90s"

  await store.send(7, 1, { confidence: 0.9 })

  assert.deepEqual([store.draft.observation, store.draft.confidence, store.base.version], ["Takes 90s", 0.9, 2])
})

test("what turns operational leaves its topic behind, and its fields are still in the form", async () => {
  const held = memory({ category: "decision", title: "Use WAL", tags: ["sqlite"], scope: "global", topic_key: "db" })
  const draft = { ...draftOf(held), category: "timing" }

  assert.deepEqual(edits(draft, held), { category: "timing", scope: "project", topic_key: null })
  assert.deepEqual([draft.title, draft.topic_key], ["Use WAL", "db"])
  assert.deepEqual(edits({ ...draftOf(held), tags: "sqlite, wal, wal" }, held), { tags: ["sqlite", "wal"] })
})

test("unsaved text outlives a reload, on the version it was typed on", async () => {
  const storage = fakeStorage()
  const first = await opened({}, storage)
  first.store.draft.observation = "Takes 90s"
  first.store.compare()
  const theirs = memory({ observation: "Takes 10s", version: 4 })

  const { store, asked } = await opened({ "GET /memories/7": theirs, "PATCH /memories/7": stale(theirs) }, storage)

  assert.deepEqual([store.draft.observation, store.base.version, store.typedAt], ["Takes 90s", 1, NOON])
  await store.save()
  assert.equal(asked.fields[0].was, "Takes 60s to start after restart")
  store.reset()
  assert.deepEqual([storage.held, store.draft.observation, store.typedAt], [{}, "Takes 10s", null])
})

test("what somebody types in another tab does not come up in this one", async () => {
  const storage = fakeStorage()
  const { store } = await opened({}, storage)
  const other = await opened({}, storage)
  other.store.draft.observation = "Takes 90s"
  other.store.compare()

  store.follow(change("updated", memory({ confidence: 0.8, version: 2 })))

  assert.deepEqual([store.dirty, store.draft.confidence], [false, 0.8])
})

test("a failure keeps what was typed and says so", async () => {
  const { store } = await opened({ "PATCH /memories/7": new Problem({ detail: "The server cannot be reached." }) })
  store.draft.observation = "Takes 90s"

  await store.save()

  assert.equal(store.draft.observation, "Takes 90s")
  assert.equal(store.problem, "Not saved. The server cannot be reached. Your edit is still here.")
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

  assert.equal(store.lineNote, "Not in the next prompt: Below the budget line.")
  assert.deepEqual(store.ways, ["a budget of 90 tokens"])
})

test("an empty field of the confidence is not nought", async () => {
  const { store, patches } = await opened({ "PATCH /memories/7": memory({ version: 2 }) })
  store.draft.confidence = ""

  assert.equal(await store.save(), false)

  assert.deepEqual([patches(), store.errors], [[], { confidence: "Enter a number from 0 to 1." }])
})

test("what stood there stays until it is read anew", async () => {
  const place = { included: true, position: 2, lines: 8, tokens: 9, words: "", ways: [] }
  let answer = async () => ({ ...place, line: "- Takes 60s" })
  const { store } = await opened({ "GET /memories/7/prompt": () => answer() })
  assert.deepEqual([store.line, store.unread], ["- Takes 60s", false])
  let ends = () => {}
  answer = () => new Promise((end) => (ends = end))

  store.follow(change("updated", memory({ confidence: 0.8, version: 2 })))

  assert.equal(store.line, "- Takes 60s")
  ends({ ...place, line: "- Takes 60s, surer" })
  await new Promise(setImmediate)
  assert.equal(store.line, "- Takes 60s, surer")
  answer = () => Promise.reject(new Problem({ status: 500, detail: "Away." }))
  await store.read()
  assert.deepEqual([store.line, store.lineNote], ["", "The next prompt could not be loaded."])
})

test("an unknown number is missing, not broken", async () => {
  const { store } = await opened({
    "GET /memories/7": new Problem({ status: 404, detail: "No memory has this number." }),
  })

  assert.equal(store.phase, "missing")
})
