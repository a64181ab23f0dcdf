import assert from "node:assert/strict"
import test from "node:test"
import { barPath, beatsWords, beatWords, sparkPath } from "../../src/charts/beats.js"
import { heartbeats } from "../../src/shared/stores/heartbeats.js"
import { NOON, fakeApi } from "../fakes.js"

const row = (changes = {}) => ({
  service: "db",
  checks: ["tcp"],
  at: new Date(NOON).toISOString(),
  states: "pfp",
  ages: [120, 60, 0],
  of: [],
  latency_ms: [20, null, 40],
  day: 99.5,
  month: null,
  ...changes,
})
const result = (seconds, state = "passed", more = {}) => ({
  ...{ service: "db", check: "tcp", state, latency_ms: 30.4 },
  at: new Date(NOON + seconds * 1_000).toISOString(),
  ...more,
})

async function loaded(...services) {
  const store = heartbeats({ api: fakeApi({ "/heartbeats": { services, seq: 1 } }) })
  await store.load()
  return store
}

test("each result is added once, even if already loaded", async () => {
  const store = await loaded(row())

  store.take([result(0), result(0.2), result(60, "failed"), result(60, "failed")])
  store.take([result(60, "failed"), { ...result(61), service: "unknown" }])

  const { beats, day } = store.of("db")
  assert.deepEqual(
    beats.map(({ state }) => state),
    ["p", "f", "p", "f"],
  )
  assert.deepEqual([day, store.of("unknown"), store.turns.db], [99.5, null, 2])
})

test("a result during maintenance is not a failure", async () => {
  const store = await loaded(row({ states: "pmm" }))

  store.take([result(60, "failed", { silent: true })])

  const { beats } = store.of("db")
  assert.equal(beats.map(({ state }) => state).join(""), "pmmm")
  assert.match(beatsWords(beats), /^Of the last 4 check results, 3 in maintenance/)
  assert.match(beatWords(beats[3]), /: tcp in maintenance or paused, not in the uptime, 30 ms$/)
})

test("a strip keeps 60 results, and each check has its own times", async () => {
  const store = await loaded(row({ checks: ["tcp", "http"], of: [0, 1, 0] }))

  store.take(Array.from({ length: 80 }, (_, n) => result(60 * n, "passed", { check: "http" })))

  const { beats } = store.of("db")
  assert.deepEqual([beats.length, beats[0].check], [60, "http"])
})

test("a strip has bars and a text description", async () => {
  const { beats } = (await loaded(row())).of("db")

  assert.equal(barPath(beats, "f"), "M232 24v-24h3v24z")
  assert.equal(barPath(beats, "p"), "M228 24v-11h3v11zM236 24v-11h3v11z")
  assert.match(beatsWords(beats), /^1 of the last 3 check results failed, last at /)
  assert.match(beatWords(beats[2]), /: tcp passed, 40 ms$/)
  assert.equal(beatsWords([]), "No scheduled check results yet")
})

test("the latency line has a gap where no value was measured", async () => {
  const { beats } = (await loaded(row())).of("db")

  assert.equal((sparkPath(beats).match(/M/g) ?? []).length, 2)
})
