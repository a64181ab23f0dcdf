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

test("only changed fields are sent", () => {
  assert.deepEqual(edits({ ...draftOf(memory()), confidence: 0.5 }, memory()), { confidence: 0.5 })
  assert.deepEqual(edits(draftOf(memory()), memory()), {})
})

for (const typed of ["", "  ", "general", "General"]) {
  test(`"${typed}" as a service is sent as no service`, () => {
    assert.equal(payload({ ...draftOf(memory()), service: typed }).service, null)
  })
}

test("an edit is saved with the version it is based on", async () => {
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

test("an edit of other fields is saved on the newer version, and the message names the other changes", async () => {
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

test("the same edit by someone else is no conflict and sends no second request", async () => {
  const theirs = memory({ observation: "Takes 90s", version: 2 })
  const { store, patches } = await opened({ "PATCH /memories/7": stale(theirs) })
  store.draft.observation = "Takes 90s"

  assert.equal(await store.save(), true)

  assert.deepEqual([patches().length, store.dirty, store.row.version], [1, false, 2])
})

test("an edit of the same field opens the conflict dialog and keeps the input", async () => {
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
  test(`a resolved conflict is saved on the newer version: ${choice}`, async () => {
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

test("keeping all of their values sends nothing", async () => {
  const theirs = memory({ observation: "Takes 10s", version: 5 })
  const { store, patches, asked } = await opened({ "PATCH /memories/7": stale(theirs) })
  store.draft.observation = "Takes 90s"
  await store.save()
  asked.all("theirs")

  await asked.submit()

  assert.deepEqual([patches().length, store.draft.observation, store.dirty], [1, "Takes 10s", false])
})

test("a late response does not overwrite a newer version from the feed", async () => {
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

test("text typed while an edit is being saved stays, and is saved on the new version", async () => {
  const responses = [memory({ version: 2, observation: "Takes 70s" }), memory({ version: 3, observation: "Takes 80s" })]
  const { store, patches } = await opened({ "PATCH /memories/7": () => responses.shift() })
  store.draft.observation = "Takes 70s"

  const saving = store.save()
  store.draft.observation = "Takes 80s"
  await saving

  assert.deepEqual([store.draft.observation, store.base.version, store.dirty], ["Takes 80s", 2, true])
  await store.save()
  assert.deepEqual(
    patches().map(({ body, version }) => [body, version]),
    [
      [{ observation: "Takes 70s" }, "7-1"],
      [{ observation: "Takes 80s" }, "7-2"],
    ],
  )
  assert.equal(store.dirty, false)
})

test("an edit outside the panel keeps the text typed in the panel", async () => {
  const { store } = await opened({ "PATCH /memories/7": memory({ confidence: 0.9, version: 2 }) })
  store.draft.observation = "Takes 90s"

  await store.send(7, 1, { confidence: 0.9 })

  assert.deepEqual([store.draft.observation, store.draft.confidence, store.base.version], ["Takes 90s", 0.9, 2])
})

test("changing to an operational category resets scope and topic key, and the form keeps its fields", async () => {
  const held = memory({ category: "decision", title: "Use WAL", tags: ["sqlite"], scope: "global", topic_key: "db" })
  const draft = { ...draftOf(held), category: "timing" }

  assert.deepEqual(edits(draft, held), { category: "timing", scope: "project", topic_key: null })
  assert.deepEqual([draft.title, draft.topic_key], ["Use WAL", "db"])
  assert.deepEqual(edits({ ...draftOf(held), tags: "sqlite, wal, wal" }, held), { tags: ["sqlite", "wal"] })
})

test("an unsaved draft survives a reload with its version", async () => {
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

test("a draft typed in another tab does not appear in this one", async () => {
  const storage = fakeStorage()
  const { store } = await opened({}, storage)
  const other = await opened({}, storage)
  other.store.draft.observation = "Takes 90s"
  other.store.compare()

  store.follow(change("updated", memory({ confidence: 0.8, version: 2 })))

  assert.deepEqual([store.dirty, store.draft.confidence], [false, 0.8])
})

test("a failed save keeps the input and shows an error", async () => {
  const { store } = await opened({ "PATCH /memories/7": new Problem({ detail: "The server cannot be reached." }) })
  store.draft.observation = "Takes 90s"

  await store.save()

  assert.equal(store.draft.observation, "Takes 90s")
  assert.equal(store.problem, "Not saved. The server cannot be reached. Your edit is still here.")
})

test("a draft is restored after visiting another memory", async () => {
  const { store } = await opened({ "GET /memories/8": memory({ id: 8 }), "/memories/8/history": { items: [] } })
  store.draft.observation = "Takes 90s"

  await store.visit(8)
  await store.visit(7)

  assert.equal(store.draft.observation, "Takes 90s")
  assert.equal(store.dirty, true)
})

test("a live change updates untouched fields", async () => {
  const { store } = await opened()

  store.follow(change("updated", memory({ confidence: 0.8, version: 2 })))

  assert.equal(store.draft.confidence, 0.8)
})

test("the panel says why a memory is not in the next prompt", async () => {
  const { store } = await opened()

  assert.equal(store.lineNote, "Not in the next prompt: Below the budget line.")
  assert.deepEqual(store.ways, ["a budget of 90 tokens"])
})

test("an empty confidence is rejected, not read as zero", async () => {
  const { store, patches } = await opened({ "PATCH /memories/7": memory({ version: 2 }) })
  store.draft.confidence = ""

  assert.equal(await store.save(), false)

  assert.deepEqual([patches(), store.errors], [[], { confidence: "Enter a number from 0 to 1." }])
})

test("the prompt line stays until the new one is loaded", async () => {
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

test("an unknown ID is shown as missing, not as an error", async () => {
  const { store } = await opened({
    "GET /memories/7": new Problem({ status: 404, detail: "No memory has this number." }),
  })

  assert.equal(store.phase, "missing")
})
