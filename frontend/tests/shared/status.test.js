import assert from "node:assert/strict"
import test from "node:test"
import {
  checkWords,
  detailWords,
  freeWords,
  sentence,
  sinceWords,
  slotWords,
  windowLeft,
} from "../../src/shared/format/status.js"
import { NOON } from "../fakes.js"

const HEALTH = { name: "health", kind: "http", ok: true, warned: false, status: 200, latency_ms: 3.14, detail: "" }
const REFUSED = { ...HEALTH, ok: false, status: null, latency_ms: null, detail: "connection refused." }
const HOUR = 3_600_000

const ahead = (ms) => new Date(NOON + ms).toISOString()

function service(name, state = "ok", changes = {}) {
  return { name, state, detail: "", since: null, checks: [], actions: [], ...changes }
}

const courier = service("courier", "failing", { checks: [HEALTH, REFUSED] })
const caddy = service("caddy", "warning", { detail: "health: answered in 912 ms" })
const [jellyfin, postgres, adguard] = ["jellyfin", "postgres", "adguard"].map((name) => service(name))
const paused = service("nas", "failing", { silence: { kind: "pause", until: null, reason: "" } })
const unseen = service("wireguard", "unknown")

for (const [services, words] of [
  [[], "No service is declared yet."],
  [[jellyfin], "jellyfin is healthy."],
  [[jellyfin, postgres], "Both services are healthy."],
  [[jellyfin, postgres, adguard], "All 3 services are healthy."],
  [[unseen], "wireguard has not been checked yet."],
  [[unseen, service("x", "unknown")], "No service has been checked yet."],
  [[courier], "courier is failing: connection refused."],
  [[courier, jellyfin, postgres], "courier is failing: connection refused. 2 of 3 are healthy."],
  [[courier, jellyfin], "courier is failing: connection refused. 1 of 2 is healthy."],
  [[caddy, jellyfin, postgres], "caddy has a warning: health: answered in 912 ms. 2 of 3 are healthy."],
  [[courier, caddy, jellyfin], "courier is failing: connection refused. caddy has a warning. 1 of 3 is healthy."],
  [[courier, { ...courier, name: "dns" }], "Both services are failing."],
  [[courier, { ...courier, name: "dns" }, jellyfin], "courier and dns are failing. 1 of 3 is healthy."],
  [[courier, service("b", "failing"), service("c", "failing"), service("d", "failing")], "All 4 services are failing."],
  [
    [courier, service("b", "failing"), service("c", "failing"), service("d", "failing"), jellyfin],
    "courier, b and 2 more are failing. 1 of 5 is healthy.",
  ],
  [[jellyfin, paused], "jellyfin is healthy. 1 service is paused or in maintenance."],
  [[paused, paused], "2 services are paused or in maintenance."],
  [[courier, unseen], "courier is failing: connection refused. None of 2 is healthy, 1 not checked yet."],
]) {
  test(`${services.map(({ name }) => name).join(", ") || "nothing"} reads "${words}"`, () => {
    assert.equal(sentence(services), words)
  })
}

test("a reason too long for a sentence is truncated", () => {
  const words = sentence([service("courier", "failing", { detail: "so ".repeat(200) })])

  assert.ok(words.length < 180 && words.endsWith("…."), words)
})

test("a state shows its duration", () => {
  assert.equal(sinceWords({ since: ahead(-3 * HOUR) }, NOON), "for 3 h")
  assert.equal(sinceWords({ since: null }, NOON), "")
})

test("a check shows its status and latency", () => {
  assert.equal(checkWords(HEALTH), "200 · 3.1 ms")
  assert.equal(checkWords({ ...HEALTH, ok: null }), "not checked yet")
})

test("a healthy service shows its check results", () => {
  assert.equal(detailWords({ detail: "", checks: [HEALTH] }), "health: 200 · 3.1 ms")
  assert.equal(detailWords({ detail: "health: slow", checks: [HEALTH] }), "health: slow")
})

const RESTART = {
  service: "courier",
  action: "restart",
  limit: 2,
  window_seconds: 14_400,
  frees_at: null,
  last_at: null,
}
const UNUSED = { ...RESTART, used: 0, last_at: ahead(-9 * HOUR) }
const HALF = { ...RESTART, used: 1, last_at: ahead(-HOUR) }
const FULL = { ...RESTART, used: 2, last_at: ahead(-HOUR), frees_at: ahead(HOUR + 12 * 60_000) }

test("slots are shown as used of total", () => {
  assert.equal(slotWords(HALF), "1 of 2 restarts used")
  assert.equal(slotWords({ action: "redeployment", used: 0, limit: 1 }), "0 of 1 redeployment used")
})

test("available slots are shown with the time until the next one", () => {
  assert.equal(freeWords(UNUSED, NOON), "Available.")
  assert.equal(freeWords(HALF, NOON), "1 available, one more in 3 h.")
  assert.equal(freeWords(FULL, NOON), "Next slot in 1 h 12 min.")
  assert.equal(freeWords(FULL, NOON + HOUR + 11 * 60_000 + 55_000), "Next slot in 5 s.")
  assert.equal(freeWords(FULL, NOON + 2 * HOUR), "Next slot available now.")
})

test("the window counts down and stops at zero", () => {
  assert.deepEqual(
    [UNUSED, HALF, FULL].map((cooldown) => windowLeft(cooldown, NOON)),
    [0, 0.75, 0.3],
  )
  assert.equal(windowLeft(FULL, NOON + 9 * HOUR), 0)
})
