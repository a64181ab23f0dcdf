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

test("a change carries its number and what it is about", () => {
  const { told, last } = open()
  last().say("hello", { seq: 10, version: "0.1.0" })

  last().say("memory", { op: "created", id: 7, version: 1, row: { id: 7 } }, 11)

  assert.deepEqual(told.at(-1), {
    kind: "changes",
    items: [{ seq: 11, entity: "memory", op: "created", id: 7, version: 1, row: { id: 7 } }],
  })
})

test("a permanent deletion reaches the page of the trash", () => {
  const { told, last } = open()
  last().say("hello", { seq: 10, version: "0.1.0" })

  last().say("trash", { op: "batch", id: 0, version: 0, row: { ids: [7], op: "deleted" } }, 11)

  assert.equal(told.at(-1).items[0].entity, "trash")
})

test("a lost stream is taken up after the last change seen", async () => {
  const { last, timers } = open()
  last().say("hello", { seq: 10 })
  last().say("event", { op: "created", id: 1, version: 1, row: {} }, 14)

  last().onerror()
  await timers.ring()

  assert.equal(last().url, "/api/v1/stream?ping=2&after=14")
})

test("a stream lost before any change goes on from its hello, so nothing in between is missed", async () => {
  const { last, timers } = open()
  last().say("hello", { seq: 10 })

  last().onerror()
  await timers.ring()

  assert.equal(last().url, "/api/v1/stream?ping=2&after=10")
})

test("what is replayed after a hello still counts, what was seen does not", async () => {
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

test("losing is told once, however often it fails to come back", async () => {
  const { last, timers, kinds } = open(async () => Promise.reject(new Error("down")))
  last().say("hello", { seq: 1 })
  for (let n = 0; n < 3; n++) {
    last().onerror()
    await timers.ring()
  }
  last().say("hello", { seq: 1 })

  assert.deepEqual(kinds(), ["hello", "live", "lost", "hello", "live"])
})

test("it never waits longer than two seconds for the next try", () => {
  assert.deepEqual([1, 2, 3, 4, 5, 6, 20].map(backoff), [125, 250, 500, 1000, 2000, 2000, 2000])
})

test("a server that began anew makes everything be read again", async () => {
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

test("a stream that says nothing any more, not even that it is there, is lost", async () => {
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

test("a stream that never says hello is given up", async () => {
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

test("where no stream can be held the changes are asked for every two seconds", async () => {
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

test("who never had a stream begins with what is there now, not with all that ever was", async () => {
  const { asked, fetch } = answering({ reset: true, seq: 9_000 }, NONE)
  const feed = open(fetch)
  feed.last().readyState = 2
  feed.last().onerror()
  await feed.timers.ring()

  assert.deepEqual(asked, ["/api/v1/changes?after=0&limit=1"])
  assert.deepEqual(feed.told[0], { kind: "hello", seq: 9_000, version: "" })
  assert.deepEqual(feed.kinds(), ["hello", "live"])
})

test("a server that answers again gets its stream back at once", async () => {
  const feed = open(answering(ONE).fetch)
  await cutOff(feed)

  assert.deepEqual(feed.timers.delays, [0])
  await feed.timers.ring()
  feed.last().say("hello", { seq: 11 })

  assert.equal(feed.last().url, "/api/v1/stream?ping=2&after=11")
  assert.deepEqual(feed.timers.delays, [4_500])
})

test("changes that are numbered anew make everything be read again", async () => {
  const feed = open(answering({ items: [], next: 3, seq: 3 }).fetch)

  await cutOff(feed)

  assert.deepEqual(feed.told.at(-2), { kind: "reset", seq: 3 })
})

test("a closed source is silent", () => {
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

test("a server that does not know us is told of once and asked no more", async () => {
  const { asked, fetch } = unknown()
  const feed = open(fetch)

  await cutOff(feed)

  assert.equal(asked.length, 1)
  assert.deepEqual(feed.kinds(), ["hello", "live", "lost", "refused"])
  assert.deepEqual(feed.timers.delays, [])
})

test("a stream that was answered with something else is looked into at once", async () => {
  const { asked, fetch } = unknown()
  const feed = open(fetch)

  feed.last().readyState = 2
  feed.last().onerror()
  await feed.timers.ring()

  assert.deepEqual(asked, ["/api/v1/changes?after=0&limit=1"])
  assert.deepEqual(feed.kinds(), ["refused"])
})

test("who was refused goes on after the last change when somebody comes in again", async () => {
  const feed = open(unknown().fetch)
  await cutOff(feed)

  feed.source.resume()
  feed.last().say("hello", { seq: 12 })

  assert.equal(feed.last().url, "/api/v1/stream?ping=2&after=10")
  assert.equal(feed.kinds().at(-1), "live")
})

test("somebody who comes in while all is well opens no second stream", () => {
  const feed = open()
  feed.last().say("hello", { seq: 10 })

  feed.source.resume()

  assert.equal(FakeSource.all.length, 1)
})
