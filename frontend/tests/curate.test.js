import assert from "node:assert/strict"
import test from "node:test"
import { addMemory } from "../src/stores/add-memory.js"
import { confirm } from "../src/stores/confirm.js"
import { curate, doneWords } from "../src/stores/curate.js"
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
    unchoose() {},
    everything: false,
    wanted: { service: "jellyfin" },
    filtered: true,
    chosenCount: 1,
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

  const { category, observation, service, confidence, title, tags, scope, topic_key } = memory()
  const whole = { category, observation, service, confidence, title, tags, scope, topic_key }
  assert.deepEqual(api.asked.at(-1).body, whole)
  assert.deepEqual(list.rows, [BACK])
})

const SENT = [
  ["confidence", 0.5, { action: "confidence", value: 0.5 }, "3 memories set to 0.50."],
  ["raise", 0.1, { action: "adjust", value: 0.1 }, "3 memories raised by 0.10."],
  ["lower", 0.1, { action: "adjust", value: -0.1 }, "3 memories lowered by 0.10."],
  ["deactivate", 0.1, { action: "deactivate" }, "3 memories deactivated."],
]
for (const [act, value, body] of SENT) {
  test(`to ${act} the ticked ones is foreseen and then done at once, with one way back`, async () => {
    const { store, api, said } = setUp({
      "POST /memories/bulk": acting(foreseen(3), { changed: 3, left: 0, bulk: 12 }),
      "POST /memories/bulk/12/undo": { changed: 3, left: 0 },
    })

    await store.change([memory()], act, value)
    await store.carryOut()
    await said.undo(said.items[0])

    assert.deepEqual(api.asked[1].body, { ids: [7], ...body })
    assert.equal(api.asked[2].path, "/memories/bulk/12/undo")
    assert.equal(said.items.at(-1).text, "They are as they were.")
  })
}

test("what an act did is said with what it left", () => {
  assert.equal(doneWords("activate", 0, 3, 1), "3 memories active again. 1 other is below 0.30 and stays inactive.")
  for (const [act, value, , words] of SENT) assert.equal(doneWords(act, value, 3), words)
})

const foreseen = (matched, { changed = matched, left = 0, falls = 0, rises = 0, examples = [] } = {}) => ({
  ...{ changed, left, bulk: null },
  preview: { matched, turn_inactive: falls, turn_active: rises, examples },
})
const acting = (plan, done) => (body) => (body.preview ? plan : done)

test("all that match are changed after what would become of them was shown", async () => {
  const example = { before: memory({ confidence: 0.4 }), after: memory({ confidence: 0.2, active: false }) }
  const plan = foreseen(312, { changed: 300, falls: 40, examples: [example] })
  const { store, api, list, said } = setUp({
    "POST /memories/bulk": acting(plan, { changed: 300, left: 0, bulk: 12 }),
  })
  Object.assign(list, { everything: true, chosenCount: 312 })

  await store.change([], "lower", 0.2)
  const { title, about, lines, examples } = store.plan
  assert.equal(title, "Lower 312 memories by 0.20?")
  assert.equal(about, "All that match: jellyfin")
  assert.deepEqual(lines, ["300 memories change.", "40 turn inactive: no session reads them.", "12 stay as they are."])
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

test("who leaves what was foreseen changes nothing", async () => {
  const { store, api } = setUp({ "POST /memories/bulk": foreseen(1, { changed: 0, left: 1 }) })

  await store.change([memory()], "activate", 0)
  const { lines } = store.plan
  store.leave()

  assert.deepEqual(lines, [
    "Nothing would change.",
    "1 stays as it is.",
    "1 is below 0.30: more confidence alone brings it back.",
  ])
  assert.equal(await store.carryOut(), false)
  assert.equal(api.asked.length, 1)
})

test("where nothing narrows the list it is said that every memory is meant", async () => {
  const { store, api, list } = setUp({ "POST /memories/bulk": foreseen(312) })
  Object.assign(list, { everything: true, chosenCount: 312, wanted: {}, filtered: false })

  await store.change([], "deactivate", 0)

  assert.deepEqual(api.asked[0].body, { filter: {}, all: true, action: "deactivate", preview: true })
})

test("all that match are read before they are deleted, so that they can be brought back", async () => {
  const { store, asker, api, list, said } = setUp({
    "GET /memories": { items: [memory(), memory({ id: 8 })] },
    "POST /memories/bulk": { changed: 2 },
  })
  Object.assign(list, { everything: true, chosenCount: 2 })

  const done = store.removeMany([])
  asker.answer(true)
  await done
  await said.undo(said.items[0])

  assert.deepEqual(api.asked[1].body, { ids: [7, 8], action: "delete" })
  assert.deepEqual(list.rows, [BACK, BACK])
})

test("too many to bring back are deleted only after that was said", async () => {
  const { store, asker, api, list, said } = setUp({ "POST /memories/bulk": { changed: 5_000 } })
  Object.assign(list, { everything: true, chosenCount: 5_000 })

  const done = store.removeMany([])
  assert.match(asker.note, /cannot be brought back/)
  asker.answer(true)
  await done

  assert.deepEqual(api.asked[0].body, { filter: { service: "jellyfin" }, action: "delete" })
  assert.deepEqual([said.items[0].text, said.items[0].undoable], ["5,000 memories deleted.", false])
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

test("more than a thousand that are ticked are never taken for all that match", async () => {
  const { store, api, said } = setUp({ "POST /memories/bulk": {} })
  const ticked = Array.from({ length: 1_001 }, (_, at) => memory({ id: at + 1 }))

  assert.equal(await store.removeMany(ticked), false)
  await store.change(ticked, "deactivate", 0)

  assert.deepEqual(api.asked, [])
  const why = "Nothing was changed. More than 1,000 are ticked: narrow the list and select all that match."
  assert.deepEqual(
    said.items.map(({ text }) => text),
    [why, why],
  )
})

test("one that is refused keeps no other from coming back, and what was inactive stays so", async () => {
  let free = false
  const refusing = (body) => {
    if (body.observation === "Held" && !free) throw new Error("The key is taken.")
    return memory({ id: 99, version: 1, observation: body.observation })
  }
  const { store, asker, api, list, said } = setUp({
    ...{ "POST /memories/bulk": {}, "POST /memories": refusing },
    "PATCH /memories/99": (body) => memory({ id: 99, version: 2, ...body }),
  })
  const rows = [memory({ observation: "Held" }), memory({ id: 8, active: false, inactive_reason: "operator" })]
  const deleted = store.removeMany(rows)
  asker.answer(true)
  await deleted

  await said.undo(said.items[0])

  assert.deepEqual(
    list.rows.map(({ active }) => active),
    [false],
  )
  assert.deepEqual(api.asked.at(-1).version, "99-1")
  assert.deepEqual(
    said.items.map(({ text }) => text),
    ["The memory is back.", "1 memory could not be written again: The key is taken."],
  )
  free = true
  await said.undo(said.items[1])
  assert.equal(list.rows.at(-1).observation, "Held")
})
