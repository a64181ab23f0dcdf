import assert from "node:assert/strict"
import test from "node:test"
import { addMemory } from "../../src/shared/memory-form/add-memory.js"
import { confirm } from "../../src/shared/dialogs/confirm.js"
import { curate, doneWords } from "../../src/pages/memories/curate.js"
import { toasts } from "../../src/shared/parts/toasts.js"
import { fakeApi, fakeStorage, fakeTimers, memory, fakeJournal } from "../fakes.js"

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
    unchoose() {},
    everything: false,
    wanted: { service: "jellyfin" },
    filtered: true,
    chosenCount: 1,
  }
  const asker = confirm()
  const acts = fakeJournal()
  const shown = { accept: (row) => list.put(row) }
  const store = curate({ api, memories: list, shown, confirm: asker, toasts: said, journal: acts })
  return { api, said, list, asker, acts, store }
}

test("confirming sends the version, updates the list and offers an undo", async () => {
  const trusted = memory({ trust: "trusted", version: 2 })
  const { store, api, list, said, acts } = setUp({ "POST /memories/7/confirm": trusted })

  assert.equal(await store.confirm(memory({ trust: "unverified" })), true)

  assert.deepEqual(list.rows, [trusted])
  assert.equal(api.asked.at(-1).version, "7-1")
  assert.equal(said.items[0].text, "Memory 7 confirmed.")
  await said.undo(said.items[0])
  assert.deepEqual(acts.undone, ["last"])
})

test("a trusted memory is not confirmed again, and a failure shows its reason", async () => {
  const { store, api, said } = setUp()

  assert.equal(await store.confirm(memory({ trust: "trusted" })), true)
  assert.equal(api.asked.length, 0)
  assert.equal(said.items[0].text, "Memory 7 is already confirmed.")
  assert.equal(await store.confirm(memory({ trust: "unverified" })), false)
  assert.match(said.items.at(-1).text, /^Nothing was changed\. /)
})

test("deleting asks for confirmation once and offers an undo", async () => {
  const { store, asker, list, said, acts } = setUp()

  const deleted = store.remove(memory())
  assert.equal(asker.title, "Delete this memory?")
  asker.answer(true)

  assert.equal(await deleted, true)
  assert.deepEqual(list.dropped, [7])
  await said.undo(said.items[0])
  assert.deepEqual(acts.undone, ["last"])
})

test("a canceled confirmation deletes nothing", async () => {
  const { store, asker, api } = setUp()

  const deleted = store.remove(memory())
  asker.answer(false)

  assert.equal(await deleted, false)
  assert.deepEqual(api.asked, [])
})

const SENT = [
  ["confidence", 0.5, { action: "confidence", value: 0.5 }, "Confidence of 3 memories set to 0.50."],
  ["raise", 0.1, { action: "adjust", value: 0.1 }, "Confidence of 3 memories raised by 0.10."],
  ["lower", 0.1, { action: "adjust", value: -0.1 }, "Confidence of 3 memories lowered by 0.10."],
  ["deactivate", 0.1, { action: "deactivate" }, "3 memories deactivated."],
]
for (const [act, value, body] of SENT) {
  test(`the bulk action ${act} changes the selected memories after a preview and can be undone`, async () => {
    const { store, api, said, acts } = setUp({
      "POST /memories/bulk": acting(foreseen(3), { changed: 3, left: 0, act: 12 }),
    })

    await store.change([memory()], act, value)
    await store.carryOut()
    await said.undo(said.items[0])

    assert.deepEqual(api.asked[1].body, { ids: [7], ...body })
    assert.deepEqual(acts.undone, ["last"])
  })
}

test("the message of a bulk action counts the changed and the skipped memories", () => {
  assert.equal(doneWords("activate", 0, 3, 1), "3 memories reactivated. 1 other is below 0.30 and stays inactive.")
  for (const [act, value, , words] of SENT) assert.equal(doneWords(act, value, 3), words)
})

const foreseen = (matched, { changed = matched, left = 0, falls = 0, rises = 0, examples = [] } = {}) => ({
  ...{ changed, left, bulk: null },
  preview: { matched, turn_inactive: falls, turn_active: rises, examples },
})
const acting = (plan, done) => (body) => (body.preview ? plan : done)

test("all matches are changed after a preview", async () => {
  const example = { before: memory({ confidence: 0.4 }), after: memory({ confidence: 0.2, active: false }) }
  const plan = foreseen(312, { changed: 300, falls: 40, examples: [example] })
  const { store, api, list, said } = setUp({
    "POST /memories/bulk": acting(plan, { changed: 300, left: 0, act: 12 }),
  })
  Object.assign(list, { everything: true, chosenCount: 312 })

  await store.change([], "lower", 0.2)
  const { title, about, lines, examples } = store.plan
  assert.equal(title, "Lower the confidence of 312 memories by 0.20?")
  assert.equal(about, "All matches: jellyfin")
  assert.deepEqual(lines, ["300 memories change.", "40 become inactive.", "12 do not change."])
  assert.deepEqual([examples[0].before, examples[0].after, examples[0].state], ["0.40", "0.20", "off"])
  assert.equal(await store.carryOut(), true)

  const body = { filter: { service: "jellyfin" }, action: "adjust", value: -0.2 }
  assert.deepEqual(
    api.asked.map((each) => each.body),
    [{ ...body, preview: true }, body],
  )
  assert.equal(said.items[0].undoable, true)
  assert.equal(store.plan, null)
})

test("closing the preview changes nothing", async () => {
  const { store, api } = setUp({ "POST /memories/bulk": foreseen(1, { changed: 0, left: 1 }) })

  await store.change([memory()], "activate", 0)
  const { lines } = store.plan
  store.exit()

  assert.deepEqual(lines, [
    "Nothing would change.",
    "1 does not change.",
    "1 is below 0.30. Raise its confidence to reactivate it.",
  ])
  assert.equal(await store.carryOut(), false)
  assert.equal(api.asked.length, 1)
})

test("without filters, a bulk request explicitly applies to all memories", async () => {
  const { store, api, list } = setUp({ "POST /memories/bulk": foreseen(312) })
  Object.assign(list, { everything: true, chosenCount: 312, wanted: {}, filtered: false })

  await store.change([], "deactivate", 0)

  assert.deepEqual(api.asked[0].body, { filter: {}, all: true, action: "deactivate", preview: true })
})

test("all matches are deleted by ID, with one undo", async () => {
  const { store, asker, api, list, said, acts } = setUp({
    "GET /memories": { items: [memory(), memory({ id: 8 })] },
    "POST /memories/bulk": { changed: 2 },
  })
  Object.assign(list, { everything: true, chosenCount: 2 })

  const done = store.removeMany([])
  asker.answer(true)
  await done
  await said.undo(said.items[0])

  assert.deepEqual(api.asked[1].body, { ids: [7, 8], action: "delete" })
  assert.deepEqual(acts.undone, ["last"])
})

test("a very large selection is deleted by filter, with one undo", async () => {
  const { store, asker, api, list, said } = setUp({ "POST /memories/bulk": { changed: 5_000 } })
  Object.assign(list, { everything: true, chosenCount: 5_000 })

  const done = store.removeMany([])
  assert.match(asker.note, /move to the trash/)
  asker.answer(true)
  await done

  assert.deepEqual(api.asked[0].body, { filter: { service: "jellyfin" }, action: "delete" })
  assert.deepEqual([said.items[0].text, said.items[0].undoable], ["5,000 memories deleted.", true])
})

test("a failed deletion shows an error and keeps the row", async () => {
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

test("a memory that could not be saved keeps its draft, even after a reload", async () => {
  const { store, storage } = writing({ "POST /memories": new Error("The store is busy.") })
  store.show({ observation: "Logs rotate at noon" })

  await store.save()
  const { store: reloaded } = writing({}, storage.held)

  assert.equal(store.open, true)
  assert.equal(store.problem, "Not saved. The store is busy. Your edit is still here.")
  assert.equal(reloaded.draft.observation, "Logs rotate at noon")
})

test("a saved memory leaves no draft", async () => {
  const { store, storage, list } = writing({ "POST /memories": BACK })
  store.show({ observation: "Logs rotate at noon" })

  await store.save()

  assert.deepEqual([store.open, store.draft.observation, storage.held], [false, "", {}])
  assert.deepEqual(list.rows, [BACK])
})

test("a validation error appears at its field", async () => {
  const refusal = Object.assign(new Error(""), { errors: [{ field: "category", message: "unknown category misc" }] })
  const { store } = writing({ "POST /memories": refusal })
  store.show({ observation: "Odd", category: "misc" })

  await store.save()

  assert.deepEqual(store.errors, { category: "unknown category misc" })
})

test("an empty observation is not sent", async () => {
  const { store } = writing({})

  await store.save()

  assert.deepEqual(store.errors, { observation: "Enter the observation to remember." })
})

test("more than 1,000 selected memories are rejected, not treated as all matches", async () => {
  const { store, api, said } = setUp({ "POST /memories/bulk": {} })
  const ticked = Array.from({ length: 1_001 }, (_, at) => memory({ id: at + 1 }))

  assert.equal(await store.removeMany(ticked), false)
  await store.change(ticked, "deactivate", 0)

  assert.deepEqual(api.asked, [])
  const why = "Nothing was changed. More than 1,000 are selected. Narrow the list, then select all matches."
  assert.deepEqual(
    said.items.map(({ text }) => text),
    [why, why],
  )
})
