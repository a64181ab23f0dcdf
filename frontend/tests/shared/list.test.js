import assert from "node:assert/strict"
import test from "node:test"
import { extend, liveList } from "../../src/shared/stores/list.js"
import { memoryOrder } from "../../src/pages/memories/store.js"
import { change, fakeApi, fakeFeed, memory } from "../fakes.js"

const A = memory({ id: 1, confidence: 0.9 })
const B = memory({ id: 2, confidence: 0.6 })
const C = memory({ id: 3, confidence: 0.7 })

async function listOf(items, { next = null, answers = {}, matches = () => true, later = () => {}, byIds } = {}) {
  const api = fakeApi({ "/memories": { items: [...items], next, seq: 5, total: items.length }, ...answers })
  const list = liveList({
    api,
    feed: fakeFeed(),
    path: "/memories",
    entity: "memory",
    query: () => ({}),
    matches,
    compare: memoryOrder({}),
    later,
    byIds,
  })
  await list.load()
  return list
}

const ids = (list) => list.rows.map(({ id }) => id)

test("a new row is inserted in order", async () => {
  const list = await listOf([A, B])

  list.apply(change("created", C))

  assert.deepEqual(ids(list), [1, 3, 2])
  assert.equal(list.total, 3)
  assert.equal(list.fresh[3], true)
})

test("a new row waits while the pointer is over the list", async () => {
  const list = await listOf([A, B])
  list.hold()

  list.apply(change("created", C))

  assert.deepEqual(ids(list), [1, 2])
  assert.deepEqual(list.waiting, [C])
})

test("an empty list shows a new row at once", async () => {
  const list = await listOf([])
  list.hold()

  list.apply(change("created", C))

  assert.deepEqual(ids(list), [3])
})

test("a page that is being loaded is not requested twice", async () => {
  const asked = []
  const list = await listOf([A], { next: "more" })
  list.fetchMore = () => asked.push("more")
  list.busy = true

  await list.more()

  assert.deepEqual([asked, list.size], [[], 50])
})

test("a few new rows are inserted in steps, many wait", async () => {
  const later = []
  const list = await listOf([A], { later: (run, ms) => ms < 1_000 && later.push(run) })
  const arrive = (...ids) => ids.forEach((id) => list.apply(change("created", memory({ id }))))

  arrive(11, 12, 13)
  const first = ids(list)
  later.shift()()
  const second = ids(list)
  arrive(21, 22, 23, 24, 25, 26)
  later.shift()()

  assert.deepEqual(
    [first, second],
    [
      [1, 11],
      [1, 11, 12, 13],
    ],
  )
  assert.deepEqual([ids(list).length, list.waiting.length, list.total], [4, 6, 10])
})

test("rows wait behind a waiting row, with or without the pointer", async () => {
  const list = await listOf([A])
  list.hold()
  list.apply(change("created", B))
  list.release()

  list.apply(change("created", C))

  assert.equal(list.waiting.length, 2)
})

test("waiting rows are inserted in order when revealed", async () => {
  const list = await listOf([A, B])
  list.hold()
  list.apply(change("created", C))

  list.reveal()

  assert.deepEqual(ids(list), [1, 3, 2])
  assert.deepEqual(list.waiting, [])
})

test("under the pointer, an updated row keeps its place, even if it would sort elsewhere", async () => {
  const list = await listOf([A, B])
  list.hold()

  list.apply(change("updated", { ...B, confidence: 1, version: 2 }))

  assert.deepEqual(ids(list), [1, 2])
  assert.equal(list.rows[1].confidence, 1)
})

test("an older version is ignored", async () => {
  const list = await listOf([{ ...A, version: 4 }])

  list.apply(change("updated", { ...A, version: 3, confidence: 0.1 }))

  assert.equal(list.rows[0].confidence, 0.9)
})

test("a row deleted under the pointer stays, marked, until the pointer leaves", async () => {
  const list = await listOf([A, B])
  list.hold()

  list.apply(change("deleted", A))
  const during = [ids(list), list.leaving[1]]
  list.release()

  assert.deepEqual(during, [[1, 2], true])
  assert.deepEqual(ids(list), [2])
})

test("a row deleted by the user disappears at once and stays deleted", async () => {
  const list = await listOf([A, B])
  list.hold()

  list.drop(1, { own: true })
  list.apply(change("updated", { ...A, version: 2 }))

  assert.deepEqual(ids(list), [2])
})

test("a row saved by the user shows at once, even if the feed delivered it first", async () => {
  const list = await listOf([A, B])
  list.hold()
  list.apply(change("created", C))

  list.put(C, { own: true })

  assert.deepEqual(ids(list), [1, 3, 2])
  assert.deepEqual(list.waiting, [])
})

test("a row excluded by the filters is not shown", async () => {
  const list = await listOf([A], { matches: ({ service }) => service === "caddy" })

  list.apply(change("created", C))

  assert.deepEqual(ids(list), [1])
})

test("a row beyond the loaded page is left to the next page", async () => {
  const list = await listOf([A, C], { next: "more" })

  list.apply(change("created", B))

  assert.deepEqual(ids(list), [1, 3])
})

test("a page that overlaps live rows repeats no row", async () => {
  const list = await listOf([A], { next: "more" })
  list.apply(change("created", memory({ id: 9, confidence: 1 })))
  list.load = () => assert.fail()

  await list.fetchMore()

  assert.deepEqual(ids(list), [9, 1])
})

test("the list shows 50 rows, then 50 more at a time, up to 200, and can go back", async () => {
  const many = Array.from({ length: 260 }, (_, n) => memory({ id: n + 1 }))
  const list = await listOf(many)
  const sizes = []

  for (let asked = 0; asked < 6; asked += 1) {
    sizes.push(list.shown.length)
    await list.more()
  }

  assert.deepEqual(sizes, [50, 100, 150, 200, 200, 200])

  assert.equal(list.shown.length, 200)
  assert.equal(list.shown[0].id, 61)
  assert.equal(list.hasMore, false)
  list.back()
  assert.equal(list.shown[0].id, 11)
})

test("the response to the latest request wins", async () => {
  const answers = [[A], [B]].map((items) => ({ items, next: null, seq: 1 }))
  const open = []
  const list = await listOf([])
  const slow = liveList({
    ...{ feed: fakeFeed(), path: "/memories", entity: "memory", query: () => ({}), matches: () => true },
    compare: memoryOrder({}),
    api: { get: () => new Promise((resolve) => open.push(resolve)) },
    later: () => {},
  })
  void list

  const [first, second] = [slow.load(), slow.load()]
  open[1](answers[1])
  open[0](answers[0])
  await Promise.all([first, second])

  assert.deepEqual(ids(slow), [2])
})

test("a failed reload shows an error and keeps the rows", async () => {
  let down = false
  const answer = () => (down ? new Error("The server cannot be reached.") : { items: [A], next: null, seq: 1 })
  const list = await listOf([], { answers: { "/memories": answer } })
  down = true

  await list.load()

  assert.deepEqual([list.phase, list.problem, ids(list)], ["ready", "The server cannot be reached.", [1]])
})

test("a batch of deletions is one change", async () => {
  const list = await listOf([A, B, C])

  list.apply({ seq: 6, entity: "memory", id: 0, op: "batch", version: 0, row: { ids: [1, 3], op: "deleted" } })

  assert.deepEqual(ids(list), [2])
})

const batch = (...ids) => ({ seq: 6, entity: "memory", id: 0, op: "batch", version: 0, row: { ids, op: "updated" } })

test("several batches reload the list once when the pointer is elsewhere", async () => {
  const due = []
  const list = await listOf([A, B, C], { later: (run) => due.push(run) })
  list.size = 1
  const reads = []
  list.load = () => reads.push("all")

  list.apply(batch(1, 2))
  list.apply(batch(3, 99))

  assert.equal(due.length, 1)
  await due[0]()
  assert.deepEqual(reads, ["all"])
})

test("under the pointer, batches update rows in place and move none", async () => {
  const due = []
  const asked = []
  const byIds = async (numbers) => (asked.push(numbers), [memory({ id: 1, confidence: 0.1, version: 2 })])
  const list = await listOf([A, B, C], { later: (run) => due.push(run), byIds })
  list.first = 1
  list.hold()

  list.apply(batch(1, 99))
  await due[0]()

  list.apply(batch(98))
  await due[1]()
  assert.deepEqual(asked, [[1]])
  assert.deepEqual([ids(list), list.first, list.rows[0].confidence], [[1, 2, 3], 1, 0.1])
})

test("extend keeps getters", () => {
  const joined = extend(
    { n: 1 },
    {
      get twice() {
        return this.n * 2
      },
    },
  )
  joined.n = 4

  assert.equal(joined.twice, 8)
})

test("an emptied list loads its next page before it counts as empty", async () => {
  const pages = (query) => (query.cursor ? { items: [C], next: null, seq: 6 } : { items: [A, B], next: "c", seq: 5 })
  const list = await listOf([], { answers: { "/memories": pages } })

  list.apply(change("deleted", A))
  list.apply(change("deleted", B))

  assert.equal(list.empty, false)
  await new Promise(setImmediate)
  assert.deepEqual(ids(list), [3])
})
