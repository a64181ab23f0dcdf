import assert from "node:assert/strict"
import test from "node:test"
import { lineKey, linesOf, log } from "../src/stores/log.js"
import { outcomeWords, session } from "../src/stores/session.js"
import { eventFilters, eventMatches } from "../src/stores/events.js"
import { runningFirst, sessionFilters, sessionMatches } from "../src/stores/sessions.js"
import { requests } from "../src/stores/requests.js"
import { change, fakeApi, fakeFeed, fakeTimers } from "./fakes.js"

const RUN = { id: 42, version: 1, status: "running", tier: 1, trigger: "manual" }
const MARK = { id: 3, version: 1, session_id: 42, state: "ignored", reason: "in code", outcome: "" }
const items = (from, n) =>
  Array.from({ length: n }, (_, at) => ({ offset: from + at, index: 0, kind: "text", text: `line ${from + at}` }))

test("a text of several lines is several lines, each with the address a marker names", () => {
  const lines = linesOf({ offset: 900, index: 1, kind: "text", text: "first\nsecond" })

  assert.deepEqual(lines, [
    { key: "900:1:0", kind: "text", text: "first", first: true },
    { key: lineKey(900, 1, 1), kind: "text", text: "second", first: false },
  ])
})

async function logOf(...chunks) {
  const asked = []
  const api = { get: async (_path, { after }) => (asked.push(after), chunks.shift()) }
  const store = log({ api })
  await store.open(42)
  return { store, asked }
}

test("the output is read on from where the last answer ended, as long as there is more", async () => {
  const { store, asked } = await logOf(
    { items: items(0, 2), next: 20, more: true, complete: false },
    { items: items(2, 1), next: 31, more: false, complete: true },
  )

  assert.deepEqual(asked, [0, 20])
  assert.deepEqual([store.size, store.complete], [3, true])
})

test("at most 2,000 lines are shown, the last ones while following", async () => {
  const { store } = await logOf({ items: items(0, 5_000), next: 1, more: false, complete: true })

  assert.deepEqual([store.from, store.to, store.before], [3_000, 5_000, 3_000])
  store.earlier()
  assert.deepEqual([store.from, store.to, store.following], [2_000, 4_000, false])
})

test("who reads further up is not pulled down: new lines are counted", async () => {
  const { store } = await logOf(
    { items: items(0, 3_000), next: 10, more: false, complete: false },
    { items: items(3_000, 12), next: 20, more: false, complete: false },
  )
  store.pause()

  await store.read(42)

  assert.deepEqual([store.to, store.unread], [3_000, 12])
  store.follow()
  assert.deepEqual([store.to, store.unread], [3_012, 0])
})

test("the line of a marker is found wherever it is", async () => {
  const { store } = await logOf({ items: items(0, 9_000), next: 1, more: false, complete: true })

  assert.equal(store.find("100:0:0"), true)
  assert.ok(store.from <= 100 && 100 < store.to && store.to - store.from <= 2_000)
  assert.equal(store.find("nowhere"), false)
})

async function opened(answers = {}) {
  const api = fakeApi({
    "/sessions/42": RUN,
    "/sessions/42/markers": { items: [MARK], seq: 1 },
    "/events": { items: [], seq: 1 },
    "/sessions/42/prompt": { system: "Look.", injected: "", prompt: "", memories: [] },
    ...answers,
  })
  const reads = []
  const log = { open: () => {}, read: (id) => reads.push(id), complete: false }
  const chain = { open: async () => {}, leave: () => {} }
  const store = session({ api, feed: fakeFeed(), log, chain, timers: fakeTimers() })
  store.visit(42, "")
  await new Promise(setImmediate)
  return { store, reads }
}

test("a change of the session makes its output be read on at once", async () => {
  const { store, reads } = await opened()
  const before = reads.length

  store.follow(change("updated", { ...RUN, version: 2, log_offset: 9 }, 1, "session"))

  assert.equal(reads.length, before + 1)
  assert.equal(store.row.version, 2)
})

test("a marker of another session is none of ours", async () => {
  const { store } = await opened()

  store.followMarker(change("created", { ...MARK, id: 4, session_id: 41 }, 1, "marker"))

  assert.deepEqual(store.markers, [MARK])
})

test("a marker that was ignored can be taken", async () => {
  const { store } = await opened({
    "PUT /markers/3/taken": { ...MARK, version: 2, state: "taken", outcome: "learned" },
  })

  await store.takeMarker(MARK)

  assert.equal(outcomeWords(store.markers[0]), "learned")
})

test("an outcome says why it is one", () => {
  assert.equal(outcomeWords(MARK), "ignored: in code")
  assert.equal(
    outcomeWords({ ...MARK, state: "refused", reason: "unknown category misc" }),
    "refused: unknown category misc",
  )
})

test("what runs stands on top, then the newest", () => {
  const rows = [
    { id: 1, status: "running" },
    { id: 3, status: "failed" },
    { id: 2, status: "completed" },
  ]

  assert.deepEqual(
    rows.toSorted(runningFirst).map(({ id }) => id),
    [1, 3, 2],
  )
})

test("sessions and events are filtered by what their address says", () => {
  const running = sessionFilters(new URLSearchParams("status=running&tier=9"))
  const loud = eventFilters(new URLSearchParams("level=critical&level=odd&service=general"))

  assert.deepEqual(running, { status: "running", tier: "", trigger: "" })
  assert.equal(sessionMatches(RUN, running), true)
  assert.deepEqual(loud.level, ["critical"])
  assert.equal(eventMatches({ text: "", level: "critical", service: null }, loud), true)
  assert.equal(eventMatches({ text: "", level: "info", service: null }, loud), false)
})

test("a request waits until it runs or is cancelled", () => {
  const store = requests({ api: fakeApi(), feed: fakeFeed() })
  const row = { id: 5, version: 1, state: "queued" }

  store.follow(change("created", row, 1, "request"))
  const waiting = store.words
  store.follow(change("updated", { ...row, version: 2, state: "running" }, 2, "request"))

  assert.deepEqual([waiting, store.queued], ["1 waiting", []])
})

test("a blank prompt and no services are not sent: all of them as usual", async () => {
  const api = fakeApi({ "POST /sessions": { id: 5, version: 1, state: "queued" } })
  const store = requests({ api, feed: fakeFeed() })

  await store.ask({ tier: "2", services: [], prompt: "  ", dry_run: false })

  assert.deepEqual(api.asked[0].body, { tier: 2, dry_run: false })
})
