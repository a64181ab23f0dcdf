import assert from "node:assert/strict"
import test from "node:test"
import { memories, memoryFilters, memoryMatches, memoryOrder, sectionOf } from "../../src/pages/memories/store.js"
import { change, fakeApi, fakeFeed, memory } from "../fakes.js"

const filters = (text) => memoryFilters(new URLSearchParams(text))
const FACETS = { services: [], categories: [], states: { active: 2, inactive: 1, review: 3 } }
const VIEWS = { fading: 4, unused: 0, single: 0, edited: 0 }
const settled = () => new Promise((resolve) => setTimeout(resolve, 5))

function setUp(answer = () => ({ items: [], next: null, seq: 1, total: 0 })) {
  const api = fakeApi({ "/memories": answer, "/memories/facets": FACETS, "/memories/views": { views: VIEWS } })
  const went = []
  const router = { page: "memories", with: (changes) => JSON.stringify(changes), go: (to) => went.push(to) }
  const later = []
  const store = memories({ api, feed: fakeFeed(), router, later: (run) => later.push(run) })
  return { store, api, went, later }
}

test("invalid values in an address are ignored", () => {
  assert.deepEqual(filters("state=odd&sort=sideways&order=up&group=x&view=all&q=dns&category=timing"), {
    ...{
      q: "dns",
      service: "",
      category: "timing",
      section: "",
      project: "",
      session: "",
      state: "",
      view: "",
      sort: "",
      order: "",
      group: "",
      as_of: "",
    },
  })
})

test("operational memories are listed unless a filter covers both sections", async () => {
  const sections = ["", "section=knowledge", "section=all", "category=decision", "project=shop", "session=4"]

  assert.deepEqual(
    sections.map((text) => sectionOf(filters(text))),
    ["operational", "knowledge", "", "", "", ""],
  )
  const decision = memory({ category: "decision" })
  assert.deepEqual(
    sections.slice(0, 3).map((text) => memoryMatches(decision, filters(text))),
    [false, true, true],
  )
  const { store, api } = setUp()
  store.visit(new URLSearchParams())
  await settled()
  assert.deepEqual(
    api.asked.map(({ body }) => body?.section),
    ["operational", "operational", "operational"],
  )
  assert.deepEqual([store.wanted, store.filtered], [{ section: "operational" }, false])
})

const MATCHES = [
  ["", true],
  ["q=TAKES 60", true],
  ["q=wireguard", false],
  ["service=jellyfin", true],
  ["service=general", false],
  ["category=behavior", false],
  ["project=OPS", true],
  ["project=other", false],
  ["state=active", true],
  ["state=inactive", false],
]
for (const [text, expected] of MATCHES) {
  test(`the filter "${text}" ${expected ? "includes" : "excludes"} the slow-start memory`, () => {
    assert.equal(memoryMatches(memory(), filters(text)), expected)
  })
}

test("a memory without a service is listed as general", () => {
  assert.equal(memoryMatches(memory({ service: null }), filters("service=general")), true)
})

test("memories are ordered by confidence, and ties have a fixed order", () => {
  const rows = [
    memory({ id: 1, confidence: 0.5 }),
    memory({ id: 2, confidence: 0.9 }),
    memory({ id: 3, confidence: 0.5 }),
  ]

  assert.deepEqual(
    rows.sort(memoryOrder({})).map(({ id }) => id),
    [2, 1, 3],
  )
})

const ROWS = [
  memory({ id: 1, service: "caddy", category: "timing", confidence: 0.5, session_id: null }),
  memory({ id: 2, service: null, category: "behavior", confidence: 0.9, session_id: 9 }),
  memory({ id: 3, service: "caddy", category: "behavior", confidence: 0.2, active: false, session_id: 42 }),
  memory({ id: 4, service: "adguard", category: "timing", confidence: 0.9, session_id: 9 }),
]
const RUNS = [
  ["sort=confidence", [2, 4, 1, 3]],
  ["sort=confidence&order=asc", [3, 1, 4, 2]],
  ["sort=created&order=asc", [1, 2, 3, 4]],
  ["sort=service", [4, 1, 3, 2]],
  ["sort=service&order=desc", [2, 1, 3, 4]],
  ["sort=category&order=desc", [4, 1, 2, 3]],
  ["sort=state", [2, 4, 1, 3]],
  ["sort=state&order=desc", [3, 2, 4, 1]],
  ["sort=source", [3, 4, 2, 1]],
  ["group=service&order=asc", [4, 3, 1, 2]],
]
for (const [text, expected] of RUNS) {
  test(`"${text}" sorts as on the server`, () => {
    assert.deepEqual(
      [...ROWS].sort(memoryOrder(filters(text))).map(({ id }) => id),
      expected,
    )
  })
}

test("a historical list has neither reviews nor views", () => {
  const { state, view } = filters("as_of=2026-01-01T00:00:00Z&state=review&view=fading")

  assert.deepEqual([state, view], ["", ""])
})

test("a view takes no live rows and is outdated while its count differs from the server's", async () => {
  const { store, later } = setUp(() => ({ items: [memory()], next: null, seq: 1, total: 1 }))
  store.visit(new URLSearchParams("view=fading"))
  await settled()
  const before = [store.outdated, memoryMatches(memory({ id: 8 }), store.filters)]
  VIEWS.fading = 1
  store.follow(change("created", memory({ id: 8 })))
  await later.at(-1)()
  await settled()

  assert.deepEqual(before, [true, false])
  assert.equal(store.outdated, false)
})

test("Shift selects all rows between two rows", async () => {
  const items = [5, 6, 7, 8, 9].map((id) => memory({ id }))
  const { store } = setUp(() => ({ items, next: null, seq: 1, total: 5 }))
  await store.load()
  store.choose(8, true)

  store.chooseTo(6)

  assert.deepEqual(store.chosenIds, [6, 7, 8])
})

test("other filters load a new list, the same filters do not", async () => {
  const { store, api } = setUp()
  const lists = () => api.asked.filter(({ path }) => path === "/memories").length

  store.visit(new URLSearchParams("q=dns"))
  await settled()
  store.visit(new URLSearchParams("q=dns"))
  const same = lists()
  store.visit(new URLSearchParams("q=vpn"))

  assert.deepEqual([same, lists()], [1, 2])
})

test("a burst of changes reloads the facets once", () => {
  const { store, later } = setUp()

  for (let n = 0; n < 20; n++) store.follow(change("created", memory({ id: n })))

  assert.equal(later.length, 1)
})

test("the sidebar count ignores the filters of the list", async () => {
  const { store, api } = setUp()
  store.visit(new URLSearchParams("service=caddy"))
  await settled()

  const asked = api.asked.filter(({ path }) => path === "/memories/facets").map(({ body }) => body?.service)

  assert.deepEqual(asked, ["caddy", undefined])
  assert.equal(store.active, 2)
})

test("the pill shows a count with the right plural", async () => {
  const { store } = setUp(() => ({ items: [memory()], next: null, seq: 1, total: 1 }))
  await store.load()
  store.hold()

  store.follow(change("created", memory({ id: 1 })))
  const one = store.pill
  store.follow(change("created", memory({ id: 2 })))

  assert.deepEqual([one, store.pill], ["1 new memory", "2 new memories"])
})

test("the default order is omitted from the address", () => {
  const { store, went } = setUp()

  store.sortBy("updated")
  store.sortBy("confidence")
  store.visit(new URLSearchParams("order=asc"))
  store.sortBy("confidence")

  assert.deepEqual(went, ['{"sort":"updated","order":""}', '{"order":"asc"}', '{"order":""}'])
})

test("a deleted memory is no longer selected", async () => {
  const { store } = setUp(() => ({ items: [memory({ id: 1 }), memory({ id: 2 })], next: null, seq: 1, total: 2 }))
  await store.load()
  store.chooseAll(true)

  store.follow(change("deleted", memory({ id: 1 })))

  assert.deepEqual(store.chosenIds, [2])
})

test("a list grouped by service has a heading per service, general last", async () => {
  const rows = [memory({ id: 1, service: null }), memory({ id: 2, service: "caddy" }), memory({ id: 3 })]
  const { store } = setUp(() => ({ items: rows.sort(memoryOrder({ group: "service" })), next: null, seq: 1, total: 3 }))

  store.visit(new URLSearchParams("group=service"))
  await settled()

  assert.deepEqual(
    store.groups.map(({ name, rows }) => [name, rows.map(({ id }) => id)]),
    [
      ["caddy", [2]],
      ["jellyfin", [3]],
      ["general", [1]],
    ],
  )
})

test("all matches can be selected once all loaded rows are, and new filters clear the selection", async () => {
  const { store } = setUp(() => ({ items: [memory()], next: "x", seq: 1, total: 312 }))
  store.visit(new URLSearchParams("service=jellyfin"))
  await settled()

  const before = store.mayChooseEverything
  store.chooseAll(true)
  const may = store.mayChooseEverything
  store.chooseEverything()
  const counts = [store.chosenCount, store.wanted]
  store.visit(new URLSearchParams("service=caddy"))

  assert.deepEqual([before, may, counts], [false, true, [312, { service: "jellyfin", section: "operational" }]])
  assert.equal(store.chosenCount, 0)
})

test("a historical list requests its moment and ignores live changes", async () => {
  const { store, api } = setUp(() => ({ items: [], next: null, seq: 1, total: 0 }))
  store.visit(new URLSearchParams("as_of=2026-01-01T00:00:00Z"))
  await settled()

  store.follow(change("created", memory()))

  assert.deepEqual([store.historical, store.rows, store.filtered], [true, [], false])
  assert.equal(api.asked[0].body.as_of, "2026-01-01T00:00:00.000Z")
})

test("an invalid moment is ignored", () => {
  assert.equal(filters("as_of=yesterday").as_of, "")
})
