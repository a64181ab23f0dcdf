import assert from "node:assert/strict"
import test from "node:test"
import { backoff, openSource } from "../../src/feed/source.js"
import { fakeTimers } from "../fakes.js"

class FakeSource extends EventTarget {
  static all = []
  constructor(url) {
    super()
    this.url = url
    FakeSource.all.push(this)
  }
  say(name, data, id) {
    this.dispatchEvent(Object.assign(new Event(name), { data: JSON.stringify(data), lastEventId: String(id ?? "") }))
  }
  close() {
    this.closed = true
  }
}

function open(fetch) {
  FakeSource.all = []
  const told = []
  const timers = fakeTimers()
  const source = openSource({ emit: (message) => told.push(message), EventSource: FakeSource, timers, fetch })
  return { told, timers, source, last: () => FakeSource.all.at(-1), kinds: () => told.map(({ kind }) => kind) }
}

test("a change has its sequence number, entity and row", () => {
  const { told, last } = open()
  last().say("hello", { seq: 10, version: "0.1.0" })

  last().say("memory", { op: "created", id: 7, version: 1, row: { id: 7 } }, 11)

  assert.deepEqual(told.at(-1), {
    kind: "changes",
    items: [{ seq: 11, entity: "memory", op: "created", id: 7, version: 1, row: { id: 7 } }],
  })
})

test("a permanent deletion arrives as a change of the trash", () => {
  const { told, last } = open()
  last().say("hello", { seq: 10, version: "0.1.0" })

  last().say("trash", { op: "batch", id: 0, version: 0, row: { ids: [7], op: "deleted" } }, 11)

  assert.equal(told.at(-1).items[0].entity, "trash")
})

test("a lost stream resumes after the last received change", async () => {
  const { last, timers } = open()
  last().say("hello", { seq: 10 })
  last().say("event", { op: "created", id: 1, version: 1, row: {} }, 14)

  last().onerror()
  await timers.ring()

  assert.equal(last().url, "/api/v1/stream?ping=2&after=14")
})

test("a stream lost before any change resumes from its hello", async () => {
  const { last, timers } = open()
  last().say("hello", { seq: 10 })

  last().onerror()
  await timers.ring()

  assert.equal(last().url, "/api/v1/stream?ping=2&after=10")
})

test("changes replayed after a hello are delivered once", async () => {
  const { last, timers, told } = open()
  last().say("hello", { seq: 10 })
  last().say("memory", { op: "created", id: 1, version: 1, row: {} }, 11)
  last().onerror()
  await timers.ring()
  last().say("hello", { seq: 13 })

  for (const seq of [11, 12, 13]) last().say("memory", { op: "updated", id: 1, version: seq, row: {} }, seq)

  const numbers = told.filter(({ kind }) => kind === "changes").flatMap(({ items }) => items.map(({ seq }) => seq))
  assert.deepEqual(numbers, [11, 12, 13])
})

test("a lost connection is reported once, even if retries fail", async () => {
  const { last, timers, kinds } = open(async () => Promise.reject(new Error("down")))
  last().say("hello", { seq: 1 })
  for (let n = 0; n < 3; n++) {
    last().onerror()
    await timers.ring()
  }
  last().say("hello", { seq: 1 })

  assert.deepEqual(kinds(), ["hello", "live", "lost", "hello", "live"])
})

test("the retry delay is at most 2 seconds", () => {
  assert.deepEqual([1, 2, 3, 4, 5, 6, 20].map(backoff), [125, 250, 500, 1000, 2000, 2000, 2000])
})

test("a hello with a lower sequence number triggers a reset", async () => {
  const { last, timers, told } = open()
  last().say("hello", { seq: 900 })
  last().onerror()
  await timers.ring()

  last().say("hello", { seq: 3 })

  assert.deepEqual(
    told.filter(({ kind }) => kind === "reset"),
    [{ kind: "reset", seq: 3 }],
  )
})

test("a stream without pings is closed and reported as lost", async () => {
  const { last, timers, told } = open()
  last().say("hello", { seq: 10 })
  const first = last()
  last().say("ping", {})

  assert.deepEqual(timers.delays, [4_500])
  await timers.ring()

  assert.equal(first.closed, true)
  assert.equal(told.at(-1).kind, "lost")
  assert.ok(Date.now() - told.at(-1).at < 10_000)
})

test("a stream without a hello is closed", async () => {
  const { last, timers } = open()
  const first = last()

  assert.deepEqual(timers.delays, [5_000])
  await timers.ring()

  assert.equal(first.closed, true)
})

function answering(...answers) {
  const asked = []
  const fetch = async (url) => {
    asked.push(url)
    return { ok: true, json: async () => answers.shift() }
  }
  return { asked, fetch }
}

const ONE = {
  items: [{ seq: 11, entity: "memory", op: "created", id: 7, version: 1, row: { id: 7 } }],
  next: 11,
  seq: 11,
}
const NONE = { items: [], next: 11, seq: 11 }

async function cutOff({ last, timers }) {
  last().say("hello", { seq: 10 })
  for (let n = 0; n < 4; n++) {
    last().onerror()
    await timers.ring()
  }
}

test("without a stream, changes are polled every 2 seconds", async () => {
  const { asked, fetch } = answering(ONE, NONE)
  const feed = open(fetch)
  await cutOff(feed)

  await feed.timers.ring()
  feed.last().onerror()
  await feed.timers.ring()

  assert.deepEqual(asked, ["/api/v1/changes?after=10&limit=500", "/api/v1/changes?after=11&limit=500"])
  assert.deepEqual(feed.kinds(), ["hello", "live", "lost", "changes", "live"])
  assert.deepEqual(feed.timers.delays, [2_000])
})

test("polling without an earlier stream starts at the latest change", async () => {
  const { asked, fetch } = answering({ reset: true, seq: 9_000 }, NONE)
  const feed = open(fetch)
  feed.last().readyState = 2
  feed.last().onerror()
  await feed.timers.ring()

  assert.deepEqual(asked, ["/api/v1/changes?after=0&limit=1"])
  assert.deepEqual(feed.told[0], { kind: "hello", seq: 9_000, version: "" })
  assert.deepEqual(feed.kinds(), ["hello", "live"])
})

test("a successful poll after an outage reopens the stream at once", async () => {
  const feed = open(answering(ONE).fetch)
  await cutOff(feed)

  assert.deepEqual(feed.timers.delays, [0])
  await feed.timers.ring()
  feed.last().say("hello", { seq: 11 })

  assert.equal(feed.last().url, "/api/v1/stream?ping=2&after=11")
  assert.deepEqual(feed.timers.delays, [4_500])
})

test("a poll with a lower sequence number triggers a reset", async () => {
  const feed = open(answering({ items: [], next: 3, seq: 3 }).fetch)

  await cutOff(feed)

  assert.deepEqual(feed.told.at(-2), { kind: "reset", seq: 3 })
})

test("a closed source schedules no retry", () => {
  const { source, last, timers } = open()

  source.close()
  last().onerror()

  assert.deepEqual(timers.delays, [])
})

function unknown() {
  const asked = []
  const fetch = async (url) => {
    asked.push(url)
    return { ok: false, status: 401 }
  }
  return { asked, fetch }
}

test("a 401 is reported once and stops polling", async () => {
  const { asked, fetch } = unknown()
  const feed = open(fetch)

  await cutOff(feed)

  assert.equal(asked.length, 1)
  assert.deepEqual(feed.kinds(), ["hello", "live", "lost", "refused"])
  assert.deepEqual(feed.timers.delays, [])
})

test("a stream that the server rejects is followed by a poll at once", async () => {
  const { asked, fetch } = unknown()
  const feed = open(fetch)

  feed.last().readyState = 2
  feed.last().onerror()
  await feed.timers.ring()

  assert.deepEqual(asked, ["/api/v1/changes?after=0&limit=1"])
  assert.deepEqual(feed.kinds(), ["refused"])
})

test("after a 401, a new login resumes the stream after the last change", async () => {
  const feed = open(unknown().fetch)
  await cutOff(feed)

  feed.source.resume()
  feed.last().say("hello", { seq: 12 })

  assert.equal(feed.last().url, "/api/v1/stream?ping=2&after=10")
  assert.equal(feed.kinds().at(-1), "live")
})

test("a visitor opens no second stream while the first is healthy", () => {
  const feed = open()
  feed.last().say("hello", { seq: 10 })

  feed.source.resume()

  assert.equal(FakeSource.all.length, 1)
})
