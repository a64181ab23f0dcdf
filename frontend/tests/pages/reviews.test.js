import "../late-texts.js"
import assert from "node:assert/strict"
import test from "node:test"
import { Problem } from "../../src/shared/api.js"
import { decidedWords, reportWords, whyWords } from "../../src/shared/format/outcomes.js"
import { lossOf, waysOf } from "../../src/pages/reviews/ways.js"
import { review as caseOf } from "../../src/pages/reviews/review.js"
import { reviews as listOf } from "../../src/pages/reviews/store.js"
import { toasts } from "../../src/shared/parts/toasts.js"
import { change, fakeApi, fakeFeed, fakeTimers, memory, fakeJournal } from "../fakes.js"

const OLD = memory({ id: 7, observation: "Takes 60s to start", confidence: 0.6 })
const NEW = memory({ id: 9, observation: "Takes 10s to start", confidence: 0.7 })
const FELL = {
  id: 3,
  version: 2,
  at: "2026-01-14T11:30:00.000000Z",
  cause: "contradicted",
  session_id: 42,
  before: { confidence: 0.8 },
  after: { confidence: 0.6 },
}

function review(changes) {
  return {
    ...{ id: 5, version: 1, kind: "conflict", state: "open", reason: "", said: NEW.observation },
    ...{ service: "jellyfin", category: "timing", session_id: 42, old: OLD, new: NEW },
    ...{ resolution: null, resolved_by: null, resolved_at: null, created_at: FELL.at },
    ...changes,
  }
}

/** A response that arrives when the test says so. */
function deferred() {
  let resolve = (_value) => {}
  return { promise: new Promise((done) => (resolve = done)), resolve: (value) => resolve(value) }
}

const settled = (changes) => review({ state: "resolved", resolution: "keep_new", version: 2, ...changes })

async function opened(answers = {}, { rows = [review()] } = {}) {
  const api = fakeApi({
    "GET /reviews": ({ limit }) => ({
      items: limit === 1 ? [] : [...rows],
      next: null,
      seq: 1,
      total: rows.length,
      pages: 2,
    }),
    "GET /reviews/5": () => review(),
    "/memories/7/history": { items: [FELL], next: null, seq: 1 },
    ...answers,
  })
  const went = []
  const router = { page: "reviews", keeping: (path) => path, go: (to) => went.push(to) }
  const said = toasts({ timers: fakeTimers() })
  const list = listOf({ api, feed: fakeFeed(), router, later: () => {} })
  list.visit(new URLSearchParams())
  await new Promise(setImmediate)
  const journal = fakeJournal()
  const store = caseOf({ api, reviews: list, toasts: said, journal, router, later: () => {} })
  await store.visit(5)
  return { store, list, api, said, went, puts: () => api.asked.filter(({ method }) => method === "PUT") }
}

test("each resolution states its effect in advance", () => {
  const loss = lossOf(review(), [FELL])

  assert.deepEqual(
    waysOf(review(), loss).map(({ resolution, then }) => [resolution, then]),
    [
      ["keep_new", "The new memory stays at 0.70. The old memory becomes inactive."],
      ["keep_old", "The old memory returns from 0.60 to 0.80. The new memory becomes inactive."],
      ["reword", "The new memory gets your text. The old memory becomes inactive."],
      ["both", "Both are included, each with the scope you enter. The old memory returns from 0.60 to 0.80."],
      ["merge", "The old memory gets your text, at 0.80. The new memory becomes inactive."],
      ["dismiss", "The old memory stays at 0.60. The new memory stays at 0.70."],
    ],
  )
})

test("restored confidence is not restored again, unless the restore was reverted", () => {
  const undo = { id: 8, version: 3, cause: "review", reason: "undoes contradicted of version 2" }
  const again = { id: 9, version: 4, cause: "undone", reason: "undoes review of version 3" }

  assert.deepEqual(
    [[FELL], [undo, FELL], [again, undo, FELL]].map((history) => lossOf(review(), history).back),
    [false, true, false],
  )
  assert.match(waysOf(review(), lossOf(review(), [undo, FELL]))[1].then, /^The old memory stays at 0\.60\./)
})

test("the reason for a conflict is a readable sentence", () => {
  assert.equal(
    whyWords({ reason: "says 10s where the other says 60s" }),
    "Difference: says 10s where the other says 60s.",
  )
  assert.equal(whyWords({ reason: "may conflict: 10s instead of 60s" }), "Difference: “10s” instead of “60s”.")
  assert.equal(
    whyWords({ reason: "independently of instead of must be" }),
    "Difference: “independently of” instead of “must be”.",
  )
  assert.equal(whyWords({ reason: "" }), "")
})

test("an inactive old memory becomes active again when its confidence is restored", () => {
  const low = review({ old: { ...OLD, confidence: 0.2, active: false } })
  const loss = { from: 0.4, to: 0.2, back: false }

  const [, keepOld, , , , dismiss] = waysOf(low, loss)

  assert.match(keepOld.then, /^The old memory returns from 0\.20 to 0\.40 and is active again\./)
  assert.match(dismiss.then, /^The old memory stays at 0\.20, inactive\./)
})

test("a possible conflict lowered no confidence and restores none", () => {
  assert.equal(lossOf(review({ session_id: 43 }), [FELL]), null)
  assert.match(waysOf(review({ kind: "possible" }), null)[1].then, /^The old memory stays at 0\.60\./)
})

test("the two memories are compared word by word", async () => {
  const { store } = await opened()

  const [old, fresh] = store.sides

  assert.deepEqual(
    old.parts.filter(({ kind }) => kind === "gone").map(({ text }) => text),
    ["60s"],
  )
  assert.deepEqual(
    fresh.parts.filter(({ kind }) => kind === "new").map(({ text }) => text),
    ["10s"],
  )
})

test("a decision sends the version that was shown and opens the next review", async () => {
  const rows = [review(), review({ id: 6 })]
  const { store, puts, went, said, list } = await opened({ "PUT /reviews/5/resolution": settled() }, { rows })

  await store.choose("keep_new")

  assert.deepEqual(puts(), [
    { method: "PUT", path: "/reviews/5/resolution", body: { resolution: "keep_new" }, version: "5-1" },
  ])
  assert.deepEqual(went, ["/reviews/6"])
  assert.deepEqual(
    list.rows.map(({ id }) => id),
    [6],
  )
  assert.deepEqual([said.items[0].text, said.items[0].undoable], ["New memory kept.", true])
})

test("the last review stays visible with its resolution", async () => {
  let row = review()
  const { store, went } = await opened({
    "GET /reviews/5": () => row,
    "PUT /reviews/5/resolution": () => (row = settled()),
  })

  await store.choose("keep_new")
  await new Promise(setImmediate)

  assert.deepEqual([store.settled, store.waits, went], [true, false, []])
})

test("keeping both requires a scope and previews the texts", async () => {
  const { store, puts } = await opened({ "PUT /reviews/5/resolution": settled({ resolution: "both" }) })

  store.choose("both")
  const blank = store.ready
  await store.submit()
  const before = puts().length
  store.draft.new_scope = " warm start "
  const preview = store.preview
  await store.submit()

  assert.deepEqual([blank, before], [false, 0])
  assert.deepEqual(preview, ["Takes 60s to start", "Takes 10s to start (warm start)"])
  assert.deepEqual(puts()[0].body, { resolution: "both", new_scope: " warm start " })
})

test("merging starts with the text of the new memory", async () => {
  const { store, puts } = await opened({ "PUT /reviews/5/resolution": settled({ resolution: "merge" }) })

  store.choose("merge")
  assert.equal(store.draft.observation, "Takes 10s to start")
  store.draft.observation = "Takes 10s to 60s to start"
  await store.submit()

  assert.deepEqual(puts()[0].body, { resolution: "merge", observation: "Takes 10s to 60s to start" })
})

test("rewording keeps the new memory with the edited text", async () => {
  const { store, puts } = await opened({ "PUT /reviews/5/resolution": settled() })

  store.choose("reword")
  store.draft.observation = "Takes 12s to start"
  await store.submit()

  assert.deepEqual(puts()[0].body, { resolution: "keep_new", observation: "Takes 12s to start" })
})

test("the forecast shows the lines that the next prompt loses and gains", async () => {
  const diff = { against: "now", added: ["- 10s"], removed: ["- 60s"] }
  const { store } = await opened({
    "/context": ({ exclude }) => ({ diff: exclude === 7 ? diff : { added: [], removed: [] } }),
  })

  await store.loadForecast()

  assert.deepEqual(
    store.outlook.keep_new.map(({ part: [{ kind, text }] }) => [kind, text]),
    [
      ["gone", "- 60s"],
      ["new", "- 10s"],
    ],
  )
  assert.deepEqual([store.outlook.loaded, store.outlook.keep_old], [true, []])
})

test("a postponed review moves to the end of the list", async () => {
  const rows = [review(), review({ id: 6 }), review({ id: 8 })]
  const { store, list, went } = await opened({}, { rows })

  store.later()

  assert.deepEqual(went, ["/reviews/6"])
  assert.deepEqual(
    list.rows.map(({ id }) => id),
    [6, 8, 5],
  )
})

for (const status of [409, 412]) {
  test(`a review resolved by someone else (${status}) shows that resolution`, async () => {
    let row = review()
    const { store, list } = await opened({
      "GET /reviews/5": () => row,
      "PUT /reviews/5/resolution": () => {
        row = settled({ resolution: "keep_old" })
        return new Problem({ status, detail: "It was settled already." })
      },
    })

    await store.choose("keep_new")

    assert.deepEqual([store.resolvedElsewhere, store.settled, store.row.resolution], [true, true, "keep_old"])
    assert.deepEqual(list.rows, [])
  })
}

test("a failure keeps the form and its input", async () => {
  const { store } = await opened({ "PUT /reviews/5/resolution": new Problem({ detail: "The store is busy." }) })
  store.choose("merge")
  store.draft.observation = "Takes a while"

  await store.submit()

  assert.deepEqual([store.form, store.draft.observation], ["merge", "Takes a while"])
  assert.equal(store.problem, "Nothing was changed. The store is busy.")
})

test("a reverted decision reopens the review", async () => {
  let row = review()
  const { store, list } = await opened({
    "GET /reviews/5": () => row,
    "PUT /reviews/5/resolution": () => (row = settled()),
    "DELETE /reviews/5/resolution": () => (row = review({ version: 3 })),
  })
  await store.choose("keep_new")

  await store.reopen(5)

  assert.equal(store.waits, true)
  assert.deepEqual(
    list.rows.map(({ id }) => id),
    [5],
  )
})

test("a response that began before the undo does not bring the decision back", async () => {
  const late = deferred()
  let requests = 0
  const { store } = await opened({
    "GET /reviews/5": () => [review(), late.promise, review({ version: 3 })][requests++],
    "PUT /reviews/5/resolution": settled(),
    "DELETE /reviews/5/resolution": review({ version: 3 }),
  })
  await store.choose("keep_new")

  await store.undo()
  late.resolve(settled())
  await new Promise(setImmediate)

  assert.equal(requests, 3)
  assert.ok(store.waits)
  assert.equal(store.row.version, 3)
})

test("a count that began earlier does not replace a later one", async () => {
  const late = deferred()
  const counts = [late.promise, { total: 1, pages: 0, items: [] }]
  const api = fakeApi({ "GET /reviews": () => counts.shift() })
  const counted = listOf({ api, feed: fakeFeed(), router: {}, later: () => {} })

  const first = counted.tally()
  await counted.tally()
  late.resolve({ total: 2, pages: 0, items: [] })
  await first

  assert.equal(counted.open, 1)
})

test("a review resolved elsewhere leaves the list, but not under the pointer", async () => {
  const { list } = await opened({}, { rows: [review(), review({ id: 6 })] })
  const ids = () => list.rows.map(({ id }) => id)

  list.follow(change("updated", settled(), 2, "review"))
  const free = ids()
  list.hold()
  list.follow(change("updated", settled({ id: 6 }), 3, "review"))
  const held = [ids(), list.leaving[6]]
  list.release()

  assert.deepEqual([free, held, ids()], [[6], [[6], true], []])
})

test("a review that is reopened while leaving stays in the list", async () => {
  const { list } = await opened()
  list.hold()

  list.follow(change("updated", settled(), 2, "review"))
  list.follow(change("updated", review({ version: 3 }), 3, "review"))
  list.release()

  assert.deepEqual(
    list.rows.map(({ id, state }) => [id, state]),
    [[5, "open"]],
  )
})

test("the next reviews are loaded near the end of the list", async () => {
  const rows = [5, 6, 7].map((id) => review({ id }))
  const { list } = await opened({
    "GET /reviews": ({ limit, cursor }) => {
      if (limit === 1) return { items: [], next: null, seq: 1, total: 4, pages: 0 }
      return cursor ? { items: [review({ id: 8 })], next: null, seq: 1 } : { items: [...rows], next: "c", seq: 1 }
    },
  })

  assert.equal(list.beside(5, 1), 6)
  await new Promise(setImmediate)

  assert.equal(list.beside(7, 1), 8)
})

test("the five latest sessions with a claim in their prompt are named, the rest counted", async () => {
  const told = Array.from({ length: 20 }, (_, n) => 200 - n)
  const row = review({ exposed: { old: told, new: [7] }, exposed_counts: { old: 117, new: 1 } })
  const { store } = await opened({ "GET /reviews/5": row })

  assert.deepEqual(
    store.sides.map(({ sessions: named, others }) => [named, others]),
    [
      [[200, 199, 198, 197, 196], 112],
      [[7], 0],
    ],
  )
})

test("a file and a memory that both changed are shown as two versions of one memory", async () => {
  const row = review({
    kind: "file",
    said: "Takes 90s",
    new: OLD,
    reason: "The file x.md and its memory were both changed.",
  })
  const { store } = await opened({ "GET /reviews/5": () => row }, { rows: [row] })
  await store.visit(5)

  assert.deepEqual(
    store.sides.map(({ title, memory }) => [title, memory?.id ?? null]),
    [
      ["Memory", OLD.id],
      ["Text in the file", null],
    ],
  )
  assert.deepEqual(
    store.ways.map(({ resolution, verb }) => [resolution, verb]),
    [
      ["keep_new", "Use file"],
      ["keep_old", "Keep memory"],
      ["reword", "Combine texts"],
    ],
  )
})

test("an extracted relationship is confirmed or rejected next to its memory", async () => {
  const fact = { ...OLD, source: "extracted" }
  const sources = { old: [{ cause: "created", session_id: null, at: FELL.at }], new: [] }
  const pair = { old: fact, new: fact, sources }
  const row = review({ kind: "relationship", said: "Checkout uses Redis", reason: "Found by a model", ...pair })
  const { store } = await opened({ "GET /reviews/5": () => row }, { rows: [row] })
  await store.visit(5)

  store.choose("reword")

  assert.equal(store.form, "")
  assert.deepEqual(store.sides[0].said.map(reportWords), ["extracted by the organizer"])
  assert.deepEqual(
    store.sides.map(({ title, memory }) => [title, memory?.id ?? null]),
    [
      ["Memory", OLD.id],
      ["Relationship", null],
    ],
  )
  assert.deepEqual(
    store.ways.map(({ resolution, key, verb }) => [resolution, key, verb]),
    [
      ["keep_new", "a", "Confirm"],
      ["keep_old", "d", "Reject"],
    ],
  )
  assert.deepEqual(
    ["keep_new", "keep_old", "gone"].map((resolution) => decidedWords({ ...row, resolution })),
    ["Relationship confirmed.", "Relationship rejected.", "Withdrawn: its memory was deleted, or its run was undone."],
  )
})
