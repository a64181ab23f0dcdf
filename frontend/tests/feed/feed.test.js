import assert from "node:assert/strict"
import test from "node:test"
import { createFeed } from "../../src/feed/index.js"
import { change, fakeTimers, memory } from "../fakes.js"

function setUp(changes = async () => ({ items: [], next: 0 })) {
  const timers = fakeTimers()
  const feed = createFeed({ changes, timers, now: () => new Date("2026-01-14T14:02:11Z") })
  const seen = []
  feed.on("memory", ({ seq }) => seen.push(seq))
  return { feed, seen, timers }
}

const at = (...numbers) => ({
  kind: "changes",
  items: numbers.map((seq) => change("updated", memory({ version: seq }), seq)),
})

test("each change is handed on once", () => {
  const { feed, seen } = setUp()
  feed.receive({ kind: "hello", seq: 10 })

  feed.receive(at(11, 12))
  feed.receive(at(11, 12, 13))

  assert.deepEqual(seen, [11, 12, 13])
})

test("a list read before the page joined is brought up to date", async () => {
  const asked = []
  const { feed, seen } = setUp(async (after) => {
    asked.push(after)
    return { items: at(9, 10).items, next: 10 }
  })

  feed.read(8)
  feed.receive({ kind: "joined", seq: 10, live: true })
  await new Promise(setImmediate)

  assert.deepEqual(asked, [8])
  assert.deepEqual(seen, [9, 10])
})

test("a list read after the page joined needs no catching up", async () => {
  const { feed } = setUp(async () => assert.fail("nothing was missed"))

  feed.receive({ kind: "joined", seq: 10, live: true })
  feed.read(12)
})

test("what came while a list was on its way is applied on top of it", () => {
  const { feed } = setUp()
  feed.receive({ kind: "hello", seq: 10 })
  feed.receive(at(11, 12, 13))
  const replayed = []

  feed.replay(11, "memory", ({ seq }) => replayed.push(seq))

  assert.deepEqual(replayed, [12, 13])
})

test("a reset reads everything again", () => {
  const { feed } = setUp()
  let loads = 0
  feed.onReset(() => (loads += 1))

  feed.receive({ kind: "reset", seq: 99 })

  assert.equal(loads, 1)
})

test("a pause keeps the changes and resuming hands them on in order", () => {
  const { feed, seen } = setUp()
  feed.receive({ kind: "hello", seq: 10 })

  feed.pause()
  feed.receive(at(11, 12))
  const { behind } = feed.state
  feed.resume()

  assert.equal(behind, 2)
  assert.deepEqual(seen, [11, 12])
  assert.equal(feed.state.behind, 0)
})

test("a short loss is not worth a banner, three seconds are", async () => {
  const { feed, timers } = setUp()
  feed.receive({ kind: "hello", seq: 1 })

  feed.receive({ kind: "lost" })
  const atOnce = feed.state.stale
  const waits = timers.delays
  await timers.ring()

  assert.equal(atOnce, false)
  assert.deepEqual(waits, [3_000])
  assert.equal(feed.state.stale, true)
  assert.deepEqual(feed.state.at, new Date("2026-01-14T14:02:11Z"))
})

test("the banner goes by itself when the feed is back", async () => {
  const { feed, timers } = setUp()
  feed.receive({ kind: "lost" })
  await timers.ring()

  feed.receive({ kind: "live" })

  assert.equal(feed.state.stale, false)
  assert.equal(feed.state.live, true)
})

test("a loss that took long to notice is told at once, with the time of what was heard last", async () => {
  const { feed, timers } = setUp()

  feed.receive({ kind: "lost", at: Date.parse("2026-01-14T14:02:06Z") })

  assert.deepEqual(timers.delays, [0])
  assert.deepEqual(feed.state.at, new Date("2026-01-14T14:02:06Z"))
})

test("a browser without a network says so, and reads again what it could not read", () => {
  const { feed } = setUp()
  let loads = 0
  feed.onReset(() => (loads += 1))

  feed.goOffline()
  const { offline, at } = { ...feed.state }
  feed.goOnline()
  feed.goOnline()

  assert.deepEqual([offline, at], [true, new Date("2026-01-14T14:02:11Z")])
  assert.deepEqual([feed.state.offline, feed.state.at, loads], [false, null, 1])
})

test("a page that was never told where the feed stands does not call itself live for long", async () => {
  const { feed, timers } = setUp()
  feed.begin()
  const { loaded, live } = { ...feed.state }

  await timers.ring()
  await timers.ring()

  assert.deepEqual([loaded, live], [false, true])
  assert.deepEqual([feed.state.live, feed.state.stale], [false, true])
})

test("a page that was told in time stays live", async () => {
  const { feed, timers } = setUp()
  feed.begin()
  feed.receive({ kind: "hello", seq: 3 })

  await timers.ring()

  assert.deepEqual([feed.state.loaded, feed.state.live], [true, true])
})

test("a page out of the browser's cache reads again what it was not told of", () => {
  const { feed } = setUp()
  let loads = 0
  feed.onReset(() => (loads += 1))
  feed.receive({ kind: "joined", seq: 10, live: true })
  feed.receive(at(11))

  feed.receive({ kind: "joined", seq: 11, live: true })
  const missedNothing = loads
  feed.receive({ kind: "joined", seq: 14, live: true })

  assert.deepEqual([missedNothing, loads], [0, 1])
})

test("who paused is not read to anew when the network comes back, only when they go on", () => {
  const { feed } = setUp()
  let loads = 0
  feed.onReset(() => (loads += 1))
  feed.pause()

  feed.goOffline()
  feed.goOnline()
  const meanwhile = loads
  feed.resume()

  assert.deepEqual([meanwhile, loads], [0, 1])
})
