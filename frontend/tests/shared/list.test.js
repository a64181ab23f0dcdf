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

test("a new row takes its place", async () => {
  const list = await listOf([A, B])

  list.apply(change("created", C))

  assert.deepEqual(ids(list), [1, 3, 2])
  assert.equal(list.total, 3)
  assert.equal(list.fresh[3], true)
})

test("under a pointer nothing moves: a new row waits", async () => {
  const list = await listOf([A, B])
  list.hold()

  list.apply(change("created", C))

  assert.deepEqual(ids(list), [1, 2])
  assert.deepEqual(list.waiting, [C])
})

test("into an empty list a row comes at once, whatever holds it", async () => {
  const list = await listOf([])
  list.hold()

  list.apply(change("created", C))

  assert.deepEqual(ids(list), [3])
})

test("what is being read is not asked for twice", async () => {
  const asked = []
  const list = await listOf([A], { next: "more" })
  list.fetchMore = () => asked.push("more")
  list.busy = true

  await list.more()

  assert.deepEqual([asked, list.size], [[], 50])
})

test("at rest rows come a few at a time; many at once wait", async () => {
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

test("once a row waits the next ones wait behind it, pointer or not", async () => {
  const list = await listOf([A])
  list.hold()
  list.apply(change("created", B))
  list.release()

  list.apply(change("created", C))

  assert.equal(list.waiting.length, 2)
})

test("what waited is revealed in its place", async () => {
  const list = await listOf([A, B])
  list.hold()
  list.apply(change("created", C))

  list.reveal()

  assert.deepEqual(ids(list), [1, 3, 2])
  assert.deepEqual(list.waiting, [])
})

test("a row is updated where it stands, even when it would now sort elsewhere", async () => {
  const list = await listOf([A, B])
  list.hold()

  list.apply(change("updated", { ...B, confidence: 1, version: 2 }))

  assert.deepEqual(ids(list), [1, 2])
  assert.equal(list.rows[1].confidence, 1)
})

test("an older version changes nothing", async () => {
  const list = await listOf([{ ...A, version: 4 }])

  list.apply(change("updated", { ...A, version: 3, confidence: 0.1 }))

  assert.equal(list.rows[0].confidence, 0.9)
})

test("under a pointer a deleted row stays, marked, until the pointer leaves", async () => {
  const list = await listOf([A, B])
  list.hold()

  list.apply(change("deleted", A))
  const during = [ids(list), list.leaving[1]]
  list.release()

  assert.deepEqual(during, [[1, 2], true])
  assert.deepEqual(ids(list), [2])
})

test("what the operator deletes goes at once, and does not come back by a late change", async () => {
  const list = await listOf([A, B])
  list.hold()

  list.drop(1, { own: true })
  list.apply(change("updated", { ...A, version: 2 }))

  assert.deepEqual(ids(list), [2])
})

test("what the operator writes shows at once, even when the feed told of it first", async () => {
  const list = await listOf([A, B])
  list.hold()
  list.apply(change("created", C))

  list.put(C, { own: true })

  assert.deepEqual(ids(list), [1, 3, 2])
  assert.deepEqual(list.waiting, [])
})

test("a row that the filters leave out is not shown", async () => {
  const list = await listOf([A], { matches: ({ service }) => service === "caddy" })

  list.apply(change("created", C))

  assert.deepEqual(ids(list), [1])
})

test("a row beyond what was read is left to the next page", async () => {
  const list = await listOf([A, C], { next: "more" })

  list.apply(change("created", B))

  assert.deepEqual(ids(list), [1, 3])
})

test("a page that overlaps what arrived live repeats no row", async () => {
  const list = await listOf([A], { next: "more" })
  list.apply(change("created", memory({ id: 9, confidence: 1 })))
  list.load = () => assert.fail()

  await list.fetchMore()

  assert.deepEqual(ids(list), [9, 1])
})

test("50 rows stand in the page, then 50 more each time, at most 200; and one can go back", async () => {
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

test("of two answers the later question's counts", async () => {
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

test("a list that cannot be read says why, and one that could keeps its rows", async () => {
  let down = false
  const answer = () => (down ? new Error("The server cannot be reached.") : { items: [A], next: null, seq: 1 })
  const list = await listOf([], { answers: { "/memories": answer } })
  down = true

  await list.load()

  assert.deepEqual([list.phase, list.problem, ids(list)], ["ready", "The server cannot be reached.", [1]])
})

test("many deletions at once are one change", async () => {
  const list = await listOf([A, B, C])

  list.apply({ seq: 6, entity: "memory", id: 0, op: "batch", version: 0, row: { ids: [1, 3], op: "deleted" } })

  assert.deepEqual(ids(list), [2])
})

const batch = (...ids) => ({ seq: 6, entity: "memory", id: 0, op: "batch", version: 0, row: { ids, op: "updated" } })

test("many changes in many batches are read once, and the list is new where nobody is in it", async () => {
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

test("under a pointer many changes move no row and lose none", async () => {
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

test("a getter stays a getter when objects are joined", () => {
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

test("a list that is worked off reads on before it is empty, and is not called empty until it is", async () => {
  const pages = (query) => (query.cursor ? { items: [C], next: null, seq: 6 } : { items: [A, B], next: "c", seq: 5 })
  const list = await listOf([], { answers: { "/memories": pages } })

  list.apply(change("deleted", A))
  list.apply(change("deleted", B))

  assert.equal(list.empty, false)
  await new Promise(setImmediate)
  assert.deepEqual(ids(list), [3])
})
