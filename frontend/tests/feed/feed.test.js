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

test("each change is delivered once", () => {
  const { feed, seen } = setUp()
  feed.receive({ kind: "hello", seq: 10 })

  feed.receive(at(11, 12))
  feed.receive(at(11, 12, 13))

  assert.deepEqual(seen, [11, 12, 13])
})

test("a list loaded before the feed joined receives the changes in between", async () => {
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

test("a list loaded after the feed joined needs no catch-up", async () => {
  const { feed } = setUp(async () => assert.fail("nothing was missed"))

  feed.receive({ kind: "joined", seq: 10, live: true })
  feed.read(12)
})

test("changes received during a list request are replayed on top of it", () => {
  const { feed } = setUp()
  feed.receive({ kind: "hello", seq: 10 })
  feed.receive(at(11, 12, 13))
  const replayed = []

  feed.replay(11, "memory", ({ seq }) => replayed.push(seq))

  assert.deepEqual(replayed, [12, 13])
})

test("a reset reloads all data", () => {
  const { feed } = setUp()
  let loads = 0
  feed.onReset(() => (loads += 1))

  feed.receive({ kind: "reset", seq: 99 })

  assert.equal(loads, 1)
})

test("a pause buffers changes and resuming delivers them in order", () => {
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

test("the connection banner appears only after 3 seconds", async () => {
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

test("the banner disappears when the feed is live again", async () => {
  const { feed, timers } = setUp()
  feed.receive({ kind: "lost" })
  await timers.ring()

  feed.receive({ kind: "live" })

  assert.equal(feed.state.stale, false)
  assert.equal(feed.state.live, true)
})

test("a loss detected late is shown at once, with the time of the last message", async () => {
  const { feed, timers } = setUp()

  feed.receive({ kind: "lost", at: Date.parse("2026-01-14T14:02:06Z") })

  assert.deepEqual(timers.delays, [0])
  assert.deepEqual(feed.state.at, new Date("2026-01-14T14:02:06Z"))
})

test("going offline is reported, and going online reloads once", () => {
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

test("a feed that never reports its position becomes stale", async () => {
  const { feed, timers } = setUp()
  feed.begin()
  const { loaded, live } = { ...feed.state }

  await timers.ring()
  await timers.ring()

  assert.deepEqual([loaded, live], [false, true])
  assert.deepEqual([feed.state.live, feed.state.stale], [false, true])
})

test("a feed that reports its position in time stays live", async () => {
  const { feed, timers } = setUp()
  feed.begin()
  feed.receive({ kind: "hello", seq: 3 })

  await timers.ring()

  assert.deepEqual([feed.state.loaded, feed.state.live], [true, true])
})

test("a page restored from the browser cache reloads only if it missed changes", () => {
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

test("a paused page reloads on resume, not when the network returns", () => {
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
