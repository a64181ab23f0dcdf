import assert from "node:assert/strict"
import test from "node:test"
import { lastVisit } from "../../src/pages/overview/last-visit.js"
import { throttle } from "../../src/shared/browser/throttle.js"
import { costWords, dayWords, figuresOf, gathered, tiersOf, turnsWords } from "../../src/pages/overview/figures.js"
import { inOrder, inPlace, overview } from "../../src/pages/overview/store.js"
import { NOON, fakeApi, fakeFeed, fakeStorage, fakeTimers } from "../fakes.js"

const named = (name, state, more = {}) => ({
  ...{ name, state, detail: "", checks: [], actions: [], group: "", tags: [] },
  ...more,
})
const learned = (id, changes = {}) => ({ cause: "learned", before: null, after: 0.7, memory: { id }, ...changes })
const SERVICES = [named("a", "ok"), named("b", "failing"), named("c", "warning")]
const STATE = {
  incidents: [],
  open_incidents: {},
  state: "failing",
  services: SERVICES,
  people: [],
  problems: [],
  checked_at: "2026-01-14T11:59:48.000000Z",
  supervisor: { state: "idle", next_round_at: "2026-01-14T12:47:12Z", heartbeat_at: "2026-01-14T11:59:57Z" },
  learned: {
    since: "2026-01-13T12:00:00Z",
    learned: 5,
    reinforced: 0,
    weakened: 0,
    faded: 1,
    items: [1, 2, 3, 4, 5].map((id) => learned(id)),
  },
  events: { since: "2026-01-13T12:00:00.000000Z", critical: 1, warning: 2 },
  sessions: { since: "2026-01-13T12:00:00.000000Z", total: 12, by_tier: { 1: 10, 2: 2, 3: 0 }, cost_usd: null },
  reviews: { open: 3, oldest_at: "2026-01-06T12:00:00Z" },
  run: {
    days: [
      { day: "2026-01-13", by_tier: { 1: 6, 2: 1, 3: 0 } },
      { day: "2026-01-14", by_tier: { 1: 4, 2: 0, 3: 0 } },
    ],
    ended: { 1: { completed: 7, escalated: 1, failed: 1, running: 1 }, 2: { running: 1 }, 3: {} },
    today: { turns: null, cost_usd: null },
    month: { turns: null, cost_usd: null },
  },
  seq: 7,
}
const names = (services) => services.map(({ name }) => name).join("")

function opened({ answer = STATE, away = false, more = {} } = {}) {
  const api = fakeApi({ "/overview": answer, ...more })
  const timers = fakeTimers()
  const supervisor = { state: null, away, beats: 0, load: () => (supervisor.beats += 1) }
  const store = overview({
    reviews: { loaded: false },
    approvals: { loaded: false, open: [] },
    halt: { on: false },
    api,
    feed: fakeFeed(),
    supervisor,
    heartbeats: { load: () => (supervisor.strips = (supervisor.strips ?? 0) + 1) },
    clock: { now: NOON, second: NOON },
    visit: lastVisit({ storage: fakeStorage(), now: () => NOON }),
    later: timers.setTimeout,
    now: () => NOON,
  })
  store.visit()
  return { store, api, timers, supervisor }
}

const settled = () => new Promise(setImmediate)

test("services can be filtered by tag, and groups are ordered by their worst service", async () => {
  const { store } = opened()
  await settled()
  const services = [named("a", "ok", { group: "edge" }), named("b", "ok", { group: "apps" })]
  store.take({ ...STATE, services: [...services, named("c", "failing", { group: "apps", tags: ["home"] })] }, null)
  store.order()

  assert.deepEqual(
    store.groups.map(({ words, services }) => [words, names(services)]),
    [
      ["apps: 1 of 2 failing", "cb"],
      ["edge: 1 service", "a"],
    ],
  )
  store.filter = "HOME"
  assert.deepEqual(
    store.groups.map(({ services }) => names(services)),
    ["c"],
  )
})

test("a changed check state reloads the overview, other results only update the last check time", async () => {
  const { store, api, timers } = opened()
  await settled()
  const check = { name: "tcp", ok: true, warned: false }
  store.take({ ...STATE, services: [named("a", "ok", { checks: [check] })] }, null)
  const result = (state, at) => [{ service: "a", check: "tcp", state, at, latency_ms: 2 }]
  const before = api.asked.length

  store.followResults(result("passed", "2026-01-14T12:00:00.000000Z"))
  assert.equal(store.state.checked_at, "2026-01-14T12:00:00.000000Z")
  await timers.ring()
  assert.equal(api.asked.length, before)

  store.followResults(result("failed", "2026-01-14T12:00:01.000000Z"))
  await timers.ring()
  assert.equal(api.asked.length, before + 1)
})

test("services are ordered by severity, then as declared", () => {
  assert.equal(names(inOrder(SERVICES)), "bca")
})

test("while the page is open, services keep their places but show their new states", async () => {
  const { store } = opened()
  await settled()
  assert.equal(store.disordered, false)

  store.take(
    { ...STATE, services: [named("a", "failing"), named("b", "ok"), named("c", "ok"), named("d", "ok")] },
    null,
  )

  assert.equal(names(store.services), "bcad")
  assert.equal(store.services[2].state, "failing")
  assert.equal(store.disordered, true)
  store.order()
  assert.deepEqual([names(store.services), store.disordered], ["abcd", false])
})

test("services keep their places and new ones are appended", () => {
  assert.equal(names(inPlace([named("x"), ...SERVICES], [SERVICES[2], SERVICES[0], SERVICES[1]])), "cabx")
})

test("a reload changes only the values that differ", async () => {
  const { store } = opened()
  await settled()
  const check = { name: "tcp", ok: true, at: "2026-01-14T12:00:00Z" }
  store.take({ ...STATE, services: [named("a", "ok", { checks: [check] }), named("b", "ok")] }, null)
  const [b, a] = store.services
  const written = []
  const watched = (row) =>
    new Proxy(row, { set: (to, key, value) => written.push(`${row.name} ${key}`) && Reflect.set(to, key, value) })
  store.services = [watched(b), watched(a)]
  const list = store.services

  const later = { ...check, at: "2026-01-14T12:00:30Z" }
  store.take({ ...STATE, services: [named("a", "failing", { checks: [later] }), named("b", "ok")] }, null)

  assert.deepEqual(written, ["a state", "a checks"])
  assert.equal(store.services, list)
  assert.equal(a.checks[0].at, "2026-01-14T12:00:30Z")
  store.take({ ...STATE, services: [named("b", "ok"), named("d", "ok")] }, null)
  assert.equal(names(store.services), "bd")
})

test("a burst of changes reloads once", async () => {
  const { store, api, timers } = opened()
  await settled()

  for (let n = 0; n < 50; n++) store.follow()
  await timers.ring()
  await settled()

  assert.equal(api.asked.length, 2)
})

test("marking an escalation as handled reloads the overview", async () => {
  const { store, api } = opened({ more: { "PUT /escalations/7/handled": {} } })
  await settled()

  await store.markHandled({ id: 7 })

  assert.deepEqual(
    api.asked.map(({ method, path }) => `${method} ${path}`),
    ["GET /overview", "PUT /escalations/7/handled", "GET /overview"],
  )
})

test("the overview does not reload after the user leaves it", async () => {
  const { store, api, timers } = opened()
  await settled()
  store.exit()

  store.follow()
  await timers.ring()

  assert.equal(api.asked.length, 1)
})

test("a failed reload keeps the data, a failed first load shows an error", async () => {
  const { store } = opened()
  await settled()
  store.fail(new Error("The server cannot be reached."))
  assert.deepEqual([store.phase, store.problem], ["ready", "The server cannot be reached."])

  const first = opened({ answer: new Error("no") }).store
  await settled()
  assert.equal(first.phase, "failed")
})

test("a missing supervisor is reported first", async () => {
  const { store } = opened({ away: true })
  await settled()

  assert.deepEqual([store.mood, store.sentence], ["away", "No supervisor is running: services are not being checked."])
  assert.match(
    store.checked,
    /^No service has been checked since .*\d\d:\d\d\. Last status: b is failing\. c has a warning\./,
  )
})

test("an error in services.yaml is shown with its location", async () => {
  const { store } = opened()
  await settled()
  assert.equal(store.fault, "")

  store.take(
    { ...STATE, problems: [{ path: "/srv/services.yaml", line: 3, message: "urll: did you mean url?" }] },
    null,
  )

  assert.equal(store.fault, "/srv/services.yaml, line 3: urll: did you mean url?")
})

test("the header shows the last check, the next round and the supervisor", async () => {
  const { store } = opened()
  await settled()

  assert.equal(store.checked, "Last checked 12 s ago.")
  assert.equal(store.next, "Next round in 47 min 12 s")
  assert.equal(store.heard, "Supervisor online")
  assert.equal(store.mood, "failing")
})

test("a group of learned memories shows three rows, and all rows on request", async () => {
  const page = (ids, next) => ({ items: ids.map((id) => learned(id)), next, seq: 9 })
  const { store, api } = opened({
    more: { "/learned": ({ cursor }) => (cursor ? page([4, 5], null) : page([1, 2, 3], "c")) },
  })
  await settled()

  const [fresh, faded] = store.learned
  assert.deepEqual([fresh.words, fresh.rows.length, faded.words], ["5 new", 3, "1 faded"])
  await store.showAll({ cause: "learned" })
  assert.deepEqual([store.learned[0].open, store.learned[0].further], [true, true])
  await Promise.all([store.further(), store.further()])
  assert.equal(store.all.items.length, 5)
  assert.deepEqual([store.learned[0].rows.length, store.learned[0].further], [5, false])
  assert.equal(api.asked.at(-1).body.since, STATE.learned.since)

  await store.showAll({ cause: "learned" })
  assert.deepEqual([store.learned[0].open, store.learned[0].rows.length], [false, 3])
})

test("the heartbeat is polled every 5 seconds while the overview is open", async () => {
  const { store, supervisor } = opened()
  await settled()

  for (const second of [0, 1, 4, 5, 6]) store.tick(NOON + second * 1_000)
  assert.equal(supervisor.beats, 2)
  store.exit()
  store.tick(NOON + 60_000)
  assert.equal(supervisor.beats, 2)
})

test("a tier shows how its sessions ended and excludes running ones", () => {
  const [observe, investigate, remediate] = tiersOf(STATE.run)

  assert.deepEqual([observe.n, observe.share], [10, ""])
  assert.deepEqual(observe.links, [
    { words: "1 failed", address: "/sessions?tier=1&from=2026-01-13&status=failed" },
    { words: "1 escalated", address: "/sessions?tier=1&from=2026-01-13&status=escalated" },
  ])
  assert.deepEqual([investigate.share, remediate.share], ["none finished yet", "none in 30 days"])
  assert.deepEqual(observe.bars.series[0].values, [6, 4])
})

test("each unsuccessful status links to its sessions", () => {
  const run = { ...STATE.run, ended: { 2: { completed: 3, timed_out: 2, interrupted: 1 } } }

  assert.deepEqual(tiersOf(run)[1].links, [
    { words: "2 timed out", address: "/sessions?tier=2&from=2026-01-13&status=timed_out" },
    { words: "1 interrupted", address: "/sessions?tier=2&from=2026-01-13&status=interrupted" },
  ])
})

test("charts are not redrawn for the same figures", async () => {
  const { store } = opened()
  await settled()
  const before = store.charts

  store.take(structuredClone(STATE), null)

  assert.equal(store.charts, before)
})

test("the review count is available before the reviews are loaded", async () => {
  const { store } = opened()
  await settled()

  assert.equal(store.cases, 3)
})

test("repeated reinforcements of a memory are merged into one row", () => {
  const seen = (before, after) => learned(1, { cause: "reinforced", before, after })

  const [often, fresh] = gathered([
    seen(0.9, 1),
    seen(0.8, 0.9),
    learned(2, { cause: "reinforced", before: 0.7 }),
    learned(2),
  ])

  assert.deepEqual([often.before, often.after, often.times], [0.8, 1, 2])
  assert.deepEqual([fresh.cause, fresh.before, fresh.times], ["learned", null, 1])
})

test("each figure links to its rows, and an unknown cost is not shown as zero", () => {
  const figures = figuresOf(STATE)
  const run = (cost, turns) => ({ today: { cost_usd: null, turns: null }, month: { cost_usd: cost, turns } })

  assert.deepEqual(
    figures.map(({ words }) => words),
    ["12 sessions", "10 of tier 1", "2 of tier 2", "1 critical", "2 warnings"],
  )
  assert.equal(figures[2].address, `/sessions?tier=2&from=${STATE.sessions.since}`)
  assert.equal(figures[3].address, `/events?level=critical&from=${STATE.events.since}`)
  assert.deepEqual(
    [costWords(run(null)), turnsWords(run(null, null))],
    ["No engine reported a cost.", "No engine reported turns."],
  )
  assert.deepEqual(
    [costWords(run(0.5)), turnsWords(run(0.5, 1))],
    ["$0.00 today, $0.50 this month", "1 turn this month"],
  )
})

function visits(storage = fakeStorage()) {
  let at = NOON
  const visit = lastVisit({ storage, now: () => at })
  return { visit, storage, wait: (minutes) => (at += minutes * 60_000) }
}

test("the first visit has no previous visit", () => {
  const { visit } = visits()

  assert.deepEqual([visit.touch(), visit.since], [false, null])
})

test("a reload within 30 minutes continues the visit, a later one starts a new visit", () => {
  const { visit, storage, wait } = visits()
  visit.touch()
  wait(20)
  visit.touch()
  wait(40)

  assert.deepEqual([visit.touch(), visit.since], [true, "2026-01-14T12:20:00.000Z"])
  wait(5)
  assert.deepEqual([visit.touch(), visit.since], [false, "2026-01-14T12:20:00.000Z"])
  assert.equal(visits(storage).visit.since, "2026-01-14T12:20:00.000Z")
})

test("invalid stored data is ignored", () => {
  for (const text of ["{", "[]", '{"seen":"x","since":1.5}']) {
    const { visit } = visits(fakeStorage({ "lamplighter.visit": text }))

    assert.deepEqual([visit.touch(), visit.since], [false, null])
  }
})

test("throttle runs at most once a second and keeps the last call", async () => {
  const timers = fakeTimers()
  let at = NOON
  let done = 0
  const again = throttle(() => (done += 1), { later: timers.setTimeout, now: () => at })

  again()
  again()
  assert.deepEqual(timers.delays, [0])
  await timers.ring()
  at += 300
  again()

  assert.deepEqual([done, timers.delays], [1, [700]])
})

test("after a slow action, throttle waits three times its duration, at most five seconds", async () => {
  const timers = fakeTimers()
  let at = NOON
  const delayAfter = async (/** @type {number} */ took) => {
    const again = throttle(() => (at += took), { later: timers.setTimeout, now: () => at })
    again()
    await timers.ring()
    again()
    const [delay] = timers.delays
    await timers.ring()
    return delay
  }

  assert.deepEqual([await delayAfter(200), await delayAfter(800), await delayAfter(3_000)], [800, 1_600, 2_000])
})

test("the 24-hour spending is shown with its limit, if both exist", () => {
  const of = (day, day_spent) => dayWords({ session: null, chain: null, day, day_spent })

  assert.deepEqual(
    [of(10, 1.234), of(10, 0), of(null, 3), dayWords(undefined)],
    ["$1.23 of $10.00 in 24 h", "", "", ""],
  )
})
