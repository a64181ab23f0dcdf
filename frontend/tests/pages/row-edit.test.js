import assert from "node:assert/strict"
import test from "node:test"
import { drafts } from "../../src/shared/memory-form/drafts.js"
import { Problem } from "../../src/shared/api.js"
import { conflict } from "../../src/pages/memory/conflict.js"
import { extend, liveList } from "../../src/shared/stores/list.js"
import { memory as memoryStore } from "../../src/pages/memory/store.js"
import { rowEdit } from "../../src/pages/memories/row-edit.js"
import { selection } from "../../src/shared/stores/selection.js"
import { toasts } from "../../src/shared/parts/toasts.js"
import { fakeApi, fakeFeed, fakeStorage, fakeTimers, memory, fakeJournal } from "../fakes.js"

const HELD = memory({ version: 3 })

function setUp(answer, more = {}) {
  const api = fakeApi({
    ...{ "PATCH /memories/7": answer, "/memories/7/history": { items: [{ id: 90, version: 4 }], next: null } },
    ...{ "/memories/7": HELD, "/memories/7/prompt": { included: false, words: "", ways: [] }, ...more },
  })
  const live = liveList({ api, feed: fakeFeed(), later: () => {}, compare: () => 0, matches: () => true })
  const list = extend(extend(live, selection()), {
    rows: [{ ...HELD }],
    showPredicted(row) {
      this.seen = [...(this.seen ?? []), row]
    },
  })
  const clash = conflict()
  const unsaved = drafts({ storage: fakeStorage() })
  const panel = memoryStore({ api, memories: list, conflict: clash })
  const said = toasts({ timers: fakeTimers() })
  const acts = fakeJournal()
  const timers = fakeTimers()
  const went = []
  const router = { keeping: (path) => path, go: (path) => (went.push(path), panel.visit(7)) }
  return {
    api,
    clash,
    list,
    panel,
    said,
    went,
    acts,
    timers,
    store: rowEdit({ memories: list, memory: panel, router, toasts: said, drafts: unsaved, journal: acts, timers }),
  }
}

test("a save shows at once and sends only the changed fields", async () => {
  const { store, api, list, said } = setUp({ ...HELD, version: 4, confidence: 0.2, active: false })
  store.start(HELD)
  store.draft.confidence = 0.2

  const saving = store.save()

  assert.deepEqual([list.seen[0].confidence, list.seen[0].active, list.seen[0].version], [0.2, false, 3])
  assert.equal(await saving, true)
  assert.deepEqual([api.asked[0].body, api.asked[0].version], [{ confidence: 0.2 }, "7-3"])
  assert.equal(said.items[0].text, "Saved. The memory is now inactive and not in the prompt.")
})

test("an edit in a row can be undone", async () => {
  const { store, acts, said } = setUp({ ...HELD, version: 4 })
  store.start(HELD)
  store.draft.category = "behavior"
  await store.save()

  await said.undo(said.items[0])

  assert.deepEqual(acts.undone, ["last"])
})

test("an unchanged row sends nothing", async () => {
  const { store, api } = setUp(HELD)
  store.start(HELD)

  assert.equal(await store.save(), true)
  assert.deepEqual(api.asked, [])
})

test("a rejected edit reopens the row with its input and restores the list", async () => {
  const refusal = Object.assign(new Error("No."), { status: 422, errors: [{ field: "service", message: "no such" }] })
  const { store, list } = setUp(refusal)
  store.start(HELD)
  store.draft.service = "my.svc"

  const closed = await store.save()

  assert.deepEqual([closed, store.id, store.draft.service], [false, 7, "my.svc"])
  assert.deepEqual(store.errors, { service: "no such" })
  assert.equal(list.seen.at(-1).service, "jellyfin")
})

test("an edit conflict opens the panel with both versions", async () => {
  const current = { ...HELD, version: 4, observation: "Theirs" }
  const { store, clash, panel, went } = setUp(Object.assign(new Error(""), { status: 412, current, errors: [] }))
  store.start(HELD)
  store.draft.observation = "Mine"

  await store.save()

  assert.deepEqual(went, ["/memories/7"])
  assert.deepEqual([clash.open, clash.fields[0].mine, clash.fields[0].was], [true, "Mine", HELD.observation])
  assert.deepEqual([panel.base.version, panel.draft.observation], [3, "Mine"])
})

test("an empty observation is not sent", async () => {
  const { store, api } = setUp(HELD)
  store.start(HELD)
  store.draft.observation = "  "

  assert.equal(await store.save(), false)
  assert.deepEqual([api.asked, store.id], [[], 7])
})

test("confidence steps show at once and are saved as one edit", async () => {
  const { store, api, list, timers, said } = setUp({ ...HELD, version: 4, confidence: 0.55 })
  store.step(HELD, -0.05)
  store.step(list.seen.at(-1), -0.05)
  store.step(list.seen.at(-1), -0.05)
  assert.deepEqual(
    list.seen.map(({ confidence }) => confidence),
    [0.65, 0.6, 0.55],
  )
  assert.deepEqual(api.asked, [])

  await timers.ring()

  assert.deepEqual([api.asked[0].body, api.asked[0].version], [{ confidence: 0.55 }, "7-3"])
  assert.equal(api.asked.filter(({ method }) => method === "PATCH").length, 1)
  assert.equal(said.items[0].undoable, true)
})

test("unsaved confidence steps can be withdrawn", async () => {
  const { store, api, list, timers, said } = setUp(HELD)
  store.step(HELD, 0.05)

  assert.equal(await store.withdraw(), true)
  await timers.ring()

  assert.deepEqual([list.seen.at(-1).confidence, api.asked], [0.7, []])
  assert.equal(said.items[0].text, "Undone. The confidence is 0.70.")
  assert.equal(await store.withdraw(), false)
})

test("steps on another row save the steps of the first row", async () => {
  const { store, api } = setUp({ ...HELD, version: 4, confidence: 0.75 })
  store.step(HELD, 0.05)
  store.step(memory({ id: 8 }), 0.05)

  assert.deepEqual([api.asked[0].path, api.asked[0].body], ["/memories/7", { confidence: 0.75 }])
})

test("confidence steps stay between 0 and 1, and their effect is shown", () => {
  const { store } = setUp(HELD)
  store.start({ ...HELD, confidence: 0.97 })
  store.nudge(0.05)
  const most = store.draft.confidence
  store.draft.confidence = 0.33
  store.nudge(-0.05)

  assert.deepEqual([most, store.draft.confidence], [1, 0.28])
  assert.equal(store.outlook, "Below 0.30 the memory becomes inactive.")
})

for (const [typed, saved, note] of [
  [1.5, 1, "Saved. Confidence ranges from 0 to 1: 1.5 was changed to 1.00."],
  [
    -1,
    0,
    "Saved. The memory is now inactive and not in the prompt. Confidence ranges from 0 to 1: -1 was changed to 0.00.",
  ],
]) {
  test(`a confidence of ${typed} is saved as ${saved}, and the message says so`, async () => {
    const { store, api, said } = setUp({ ...HELD, version: 4, confidence: saved, active: saved > 0 })
    store.start(HELD)
    store.draft.confidence = typed

    assert.equal(await store.save(), true)

    assert.deepEqual(api.asked[0].body, { confidence: saved })
    assert.equal(said.items[0].text, note)
  })
}

test("the note about a clamped confidence disappears when another value is typed", () => {
  const { store } = setUp(HELD)
  store.start(HELD)
  store.draft.confidence = 7
  store.clamp()
  const note = store.outlook
  store.draft.confidence = 0.9

  assert.deepEqual([note, store.outlook], ["Confidence ranges from 0 to 1: 7 was changed to 1.00.", ""])
})

for (const [typed, what] of [
  ["", "empty"],
  ["x", "not a number"],
]) {
  test(`a confidence that is ${what} is rejected`, async () => {
    const { store, api } = setUp(HELD)
    store.start(HELD)
    store.draft.confidence = typed

    assert.equal(await store.save(), false)

    assert.deepEqual(api.asked, [])
    assert.deepEqual([store.id, store.problem], [7, "Enter a number from 0 to 1."])
  })
}

test("the draft of a row is restored until it is discarded", () => {
  const { store } = setUp(HELD)
  store.start(HELD)
  store.draft.observation = "Half a thought"
  store.keep()

  store.start(memory({ id: 8 }))
  store.start(HELD)
  assert.equal(store.draft.observation, "Half a thought")
  assert.match(store.outlook, /^Your unsaved draft from .+ is here\.$/)

  store.giveUp()
  store.start(HELD)
  assert.equal(store.draft.observation, HELD.observation)
})

test("a validation error without a field in the row appears below the row", async () => {
  const { store } = setUp(new Problem({ status: 422, errors: [{ field: "category", message: "is unknown" }] }))
  store.start(HELD)
  store.draft.category = "behavior"

  await store.save()

  assert.equal(store.problem, "is unknown")
})

test("an edit during a pending save is based on the saved result", async () => {
  const answers = []
  const { store, api, list } = setUp(() => new Promise((answer) => answers.push(answer)))
  store.start(HELD)
  store.draft.observation = "Takes 90s"
  store.keep()
  const first = store.save()
  const foreseen = list.seen[0]

  store.start(foreseen)
  store.nudge(0.05)
  const second = store.save()
  await new Promise(setImmediate)
  answers[0]({ ...foreseen, version: 4 })
  await new Promise(setImmediate)
  answers[1]({ ...foreseen, version: 5, confidence: 0.75 })

  assert.deepEqual(await Promise.all([first, second]), [true, true])
  const sent = api.asked.filter(({ method }) => method === "PATCH")
  assert.deepEqual(
    sent.map(({ body, version }) => [body, version]),
    [
      [{ observation: "Takes 90s" }, "7-3"],
      [{ confidence: 0.75 }, "7-4"],
    ],
  )
})
