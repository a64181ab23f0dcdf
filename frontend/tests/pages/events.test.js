import assert from "node:assert/strict"
import test from "node:test"
import { rangeOf, stretchWords } from "../../src/pages/events/range.js"
import { density } from "../../src/pages/events/density.js"
import { eventGroups } from "../../src/pages/events/event-groups.js"
import { eventFilters, eventMatches, events } from "../../src/pages/events/store.js"
import "../late-texts.js"
import { fakeApi, fakeFeed, fakeTimers, NOON } from "../fakes.js"

const REFUSED = {
  id: 40,
  version: 1,
  level: "critical",
  service: "jellyfin",
  text: "Connection refused",
  session_id: 12,
  tier: 1,
  source: "marker",
  created_at: "2026-01-14T11:59:00.000000Z",
}
const GROUP = {
  level: "critical",
  service: "jellyfin",
  text: "Connection refused",
  count: 3,
  first_id: 10,
  last_id: 30,
  first_at: "2026-01-14T10:00:00.000000Z",
  last_at: "2026-01-14T11:00:00.000000Z",
  sessions: 2,
  session_id: 11,
}
const EVERYTHING = eventFilters(new URLSearchParams())

function created(event) {
  return { seq: 1, entity: "event", op: "created", id: event.id, version: 1, row: event }
}

function groups(answers = {}) {
  const api = fakeApi({ "/events/groups": { items: [GROUP], next: null, seq: 5 }, ...answers })
  const store = eventGroups({ api, feed: fakeFeed(), later: () => {} })
  return { api, store }
}

test("a time range includes its start and excludes its end", () => {
  const filters = eventFilters(new URLSearchParams("from=2026-01-14T11:59:00Z&to=2026-01-14T12:00:00Z"))

  assert.equal(eventMatches(REFUSED, filters), true)
  assert.equal(eventMatches({ ...REFUSED, created_at: "2026-01-14T12:00:00.000000Z" }, filters), false)
  assert.deepEqual(rangeOf("hour", NOON), { from: "2026-01-14T11:00:00.000Z", to: "" })
})

test("a repeated event increments its group in place", async () => {
  const { store } = groups()
  await store.visit(EVERYTHING)
  await Promise.resolve()
  store.hold()

  store.apply(created(REFUSED))
  store.apply(created(REFUSED))

  const [{ count, last_id, sessions, session_id, id }] = store.rows
  assert.deepEqual(
    { count, last_id, sessions, session_id, id },
    { count: 4, last_id: 40, sessions: 3, session_id: 12, id: 10 },
  )
  assert.equal(store.rows.length, 1)
})

test("a session is counted once per group, even if it repeats an event later", async () => {
  const now = { ...GROUP, count: 4, last_id: 40 }
  const page = ({ repeats_of }) => ({ items: [repeats_of ? now : GROUP], next: null, seq: 5 })
  const { store, api } = groups({ "/events/groups": page })
  await store.visit(EVERYTHING)
  await Promise.resolve()

  store.apply(created({ ...REFUSED, session_id: 9 }))
  await new Promise(setImmediate)
  store.apply(created({ ...REFUSED, id: 41, session_id: 12 }))

  const [{ count, sessions, session_id }] = store.rows
  assert.equal(api.asked.at(-1).body.repeats_of, 40)
  assert.deepEqual({ count, sessions, session_id }, { count: 5, sessions: 3, session_id: 12 })
})

test("an event with a new text becomes its own group", async () => {
  const { store } = groups()
  await store.visit(EVERYTHING)
  await Promise.resolve()

  store.apply(created({ ...REFUSED, text: "Something else" }))

  assert.deepEqual(
    store.rows.map(({ text, count }) => [text, count]),
    [
      ["Something else", 1],
      ["Connection refused", 3],
    ],
  )
})

test("an event of a group that is not loaded fetches the group", async () => {
  const far = { ...GROUP, text: "Far back", count: 9, first_id: 1, last_id: 40 }
  const page = ({ repeats_of }) => ({ items: [repeats_of ? far : GROUP], next: repeats_of ? null : "more", seq: 5 })
  const { store } = groups({ "/events/groups": page })
  await store.visit(EVERYTHING)
  await Promise.resolve()

  await store.fold({ ...REFUSED, text: "Far back" })

  assert.deepEqual(
    store.rows.map(({ count }) => count),
    [9, 3],
  )
})

test("an expanded group shows its events and the number of newer ones", async () => {
  const { store, api } = groups({ "/events": { items: [REFUSED], next: null, seq: 5 } })
  await store.visit(EVERYTHING)
  await Promise.resolve()
  await store.unfold(store.rows[0])

  store.apply(created({ ...REFUSED, id: 41 }))

  assert.equal(api.asked.at(-1).body.repeats_of, 30)
  assert.deepEqual([store.unfolded[10].rows.length, store.behind(store.rows[0])], [1, 1])
  store.toggle(store.rows[0])
  assert.equal(store.unfolded[10], undefined)
})

function counts(stretches) {
  return {
    seconds: 3_600,
    total: stretches.reduce((sum, each) => sum + each.info + each.critical, 0),
    stretches,
    seq: 1,
  }
}
const HOURS = [
  { at: "2026-01-14T10:00:00.000000Z", info: 1, warning: 0, critical: 0 },
  { at: "2026-01-14T11:00:00.000000Z", info: 2, warning: 0, critical: 1 },
]

const told = (row, seq) => ({ seq, op: "created", entity: "event", id: row.id, version: 1, row })

test("the chart counts an event in its interval and updates at most once a second", async () => {
  const api = fakeApi({ "/events/density": counts(HOURS) })
  const timers = fakeTimers()
  const store = density({ api, feed: fakeFeed(), later: timers.setTimeout })
  await store.visit(EVERYTHING)
  await store.load()

  store.follow(told(REFUSED, 2))
  store.follow(told({ ...REFUSED, id: 41, level: "info" }, 3))
  const before = store.total
  await timers.ring()

  assert.deepEqual([before, store.total, store.stretches[1].critical, store.stretches[1].info], [4, 6, 2, 3])
  assert.deepEqual(store.bars.all, [1, 5])
  assert.equal(store.words, "6 events, 2 critical, 0 warnings")
  assert.equal(store.busiest.from, "2026-01-14T11:00:00.000Z")
})

test("an event after the last interval reloads the chart", async () => {
  const api = fakeApi({ "/events/density": counts(HOURS) })
  const timers = fakeTimers()
  const store = density({ api, feed: fakeFeed(), later: timers.setTimeout })
  await store.load()

  store.filters = EVERYTHING
  store.follow(told({ ...REFUSED, created_at: "2026-01-14T12:30:00.000000Z" }, 2))
  await timers.ring()

  assert.equal(api.asked.length, 2)
})

test("an event in both the response and the feed is counted once", async () => {
  const api = fakeApi({ "/events/density": counts(HOURS) })
  const timers = fakeTimers()
  const store = density({ api, feed: fakeFeed(), later: timers.setTimeout })
  store.visit(EVERYTHING)
  store.follow(told(REFUSED, 1)) // included in the pending response
  store.follow(told({ ...REFUSED, id: 41 }, 2)) // not included in it
  await new Promise(setImmediate)
  await timers.ring()

  store.follow(told(REFUSED, 1))
  store.follow(told({ ...REFUSED, id: 41 }, 2))
  await timers.ring()

  assert.equal(store.total, 5)
})

test("an address can select one event and the time range around it", async () => {
  const api = fakeApi({ "/events": { items: [], next: null, seq: 1 }, "/events/40": REFUSED })
  const went = []
  const router = { go: (address) => went.push(address), with: () => "" }
  const still = { visit() {}, exit() {}, load() {}, follow() {}, phase: "loading" }
  const store = events({ api, feed: fakeFeed(), router, groups: still, density: still, later: () => {} })

  store.visit(new URLSearchParams("event=40"))
  await new Promise((resolve) => setImmediate(resolve))
  store.around()

  assert.equal(store.linked.text, "Connection refused")
  assert.deepEqual(went, ["/events?event=40&from=2026-01-14T11:44:00.000Z&to=2026-01-14T12:14:00.000Z"])
})

test("an interval is formatted as briefly as possible", () => {
  const noon = new Date(2026, 0, 14, 12).getTime()

  assert.equal(stretchWords(noon, 3_600), "Jan 14, 12:00 to 13:00")
  assert.equal(stretchWords(noon, 10), "Jan 14, 12:00:00 to 12:00:10")
  assert.equal(stretchWords(new Date(2026, 0, 14).getTime(), 7 * 86_400), "Jan 14 to Jan 20")
})
