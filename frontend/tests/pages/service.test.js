import assert from "node:assert/strict"
import test from "node:test"
import "../late-texts.js"
import { service } from "../../src/pages/service/store.js"
import { chartWords, comparedWords, spanWords } from "../../src/pages/service/page.js"
import { NOON, fakeApi, fakeTimers } from "../fakes.js"

const CHECK = { name: "tcp", kind: "tcp", ok: true, warned: false }
const LATENCY = {
  ...{ since: "2026-01-13T12:00:00Z", until: "2026-01-14T12:00:00Z", seconds: 300, silences: [] },
  checks: ["http", "tcp"].map((check) => ({ check, at: [0, 287] })),
}
const HOUR_AGO = { ...LATENCY, checks: [{ check: "http", at: [276, 287] }] }
const ROW = {
  ...{ name: "db", state: "ok", checks: [CHECK], actions: [], cooldowns: [], silence: null },
  ...{ uptime: { day: 100 }, latency: LATENCY, incidents: { items: [], next: null } },
}

function opened(params = "", more = {}) {
  const api = fakeApi({
    ...{ "/services/db": ROW, "/services/db/latency": LATENCY, "/cooldowns/uses": { items: [] } },
    "/audit": { items: [], states: { active: 3, inactive: 0 } },
    ...more,
  })
  const timers = fakeTimers()
  const told = []
  const store = service({
    api,
    heartbeats: { load: (name) => told.push(name) },
    router: { name: "db" },
    toasts: { show: (words) => told.push(words) },
    later: timers.setTimeout,
    now: () => NOON,
  })
  return { api, timers, told, store, visited: store.visit(new URLSearchParams(params)) }
}

test("a service is loaded with all its data", async () => {
  const { store, visited, told } = opened("period=7d&check=tcp")
  await visited

  assert.deepEqual([store.phase, store.believed, store.period, store.charted.check], ["ready", 3, "7d", "tcp"])
  assert.deepEqual(told, ["db"])
})

test("one response has the service and its chart of 24 h", async () => {
  const { store, api, visited } = opened()
  await visited

  assert.equal(store.latency.checks, LATENCY.checks)
  assert.deepEqual(api.asked.map(({ path }) => path).sort(), ["/audit", "/cooldowns/uses", "/services/db"])
})

test("a new service is shown with the chart of its first hour, unless another is chosen", async () => {
  const row = { "/services/db": { ...ROW, latency: HOUR_AGO } }
  const [first, chosen] = [opened("", row), opened("period=24h", row)]
  await Promise.all([first.visited, chosen.visited])

  assert.deepEqual([first.store.period, first.store.latency], ["1h", LATENCY])
  assert.deepEqual(first.api.asked.find(({ path }) => path.endsWith("/latency")).body, { period: "1h" })
  assert.deepEqual([chosen.store.period, chosen.store.latency], ["24h", HOUR_AGO])
})

test("a service without results is shown with the chart of 24 h", async () => {
  const { store, visited } = opened("", { "/services/db": { ...ROW, latency: { ...LATENCY, checks: [] } } })
  await visited

  assert.deepEqual([store.period, store.latency.checks], ["24h", []])
})

test("a service that is opened again without a period is shown with the chart of 24 h", async () => {
  const { store, visited } = opened("period=7d", { "/services/db/latency": HOUR_AGO })
  await visited
  store.exit()

  await store.visit(new URLSearchParams())

  assert.deepEqual([store.period, store.latency], ["24h", LATENCY])
})

test("an unknown period falls back to 24 h, and a new period reloads only the chart", async () => {
  const { store, api, visited } = opened("period=2y")
  await visited
  assert.equal(store.period, "24h")
  const before = api.asked.length

  await store.visit(new URLSearchParams("period=1h"))

  assert.deepEqual(
    api.asked.slice(before).map(({ path }) => path),
    ["/services/db/latency"],
  )
})

test("an undeclared service is shown as missing", async () => {
  const missing = Object.assign(new Error("none"), { status: 404 })
  const { store, visited } = opened("", { "/services/db": missing })
  await visited

  assert.equal(store.phase, "missing")
})

test("a changed check state reloads the service, an unchanged one does not", async () => {
  const { store, api, timers, visited } = opened()
  await visited
  const before = api.asked.length
  const result = { service: "db", check: "tcp", state: "passed", at: "", latency_ms: 1 }

  store.followResults([result])
  await timers.ring()
  assert.equal(api.asked.length, before)

  store.followResults([{ ...result, state: "failed" }])
  await timers.ring()
  assert.equal(api.asked[before].path, "/services/db")
})

test("a pause has an end, and its message states the effect", async () => {
  const { store, api, told, visited } = opened("", { "PUT /services/db/pause": {} })
  await visited

  await store.pause("8h")

  const sent = api.asked.find(({ method }) => method === "PUT")
  assert.deepEqual(sent.body, { until: "2026-01-14T20:00:00.000Z" })
  assert.equal(told.at(-1), "Paused. Failures are only recorded.")
})

test("a chart and its spans have text descriptions", () => {
  const span = { at: NOON, end: NOON, p50: 9.4, p95: 20, max: 30.6, count: 60, failures: 2 }

  assert.match(spanWords(span), /median 9.4 ms, 95% under 20 ms, slowest 31 ms · 60 results, 2 failed$/)
  assert.equal(chartWords([span], "24h"), "Last 24 h: 60 results, 2 failed, median now 9.4 ms")
  assert.equal(chartWords([], "7d"), "No check results in the last 7 d")
})

test("the median of a period is compared with the previous period", () => {
  const words = (median_ms, before_ms) => comparedWords({ median_ms, before_ms }, "7d")

  assert.deepEqual(
    [words(50, 20), words(20, 50), words(20, 20), words(20, null), words(null, 20), comparedWords(null, "7d")],
    [
      "Median 50 ms, 20 ms in the 7 d before: 150% slower.",
      "Median 20 ms, 50 ms in the 7 d before: 60% faster.",
      "Median 20 ms, as in the 7 d before.",
      "Median 20 ms. No results in the 7 d before to compare with.",
      "",
      "",
    ],
  )
})
