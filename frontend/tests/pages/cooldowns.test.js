import assert from "node:assert/strict"
import { readFile } from "node:fs/promises"
import test from "node:test"
import "../late-texts.js"
import { chain, handoffState, handoffWay } from "../../src/pages/session/chain/store.js"
import { cooldowns } from "../../src/pages/cooldowns/store.js"
import { useFilters, useMatches, useNotes, useWords } from "../../src/pages/cooldowns/uses.js"
import { NOON, change, fakeApi, fakeFeed, fakeTimers, fakeJournal } from "../fakes.js"

const settled = () => new Promise(setImmediate)
const RESTART = {
  service: "courier",
  action: "restart",
  used: 2,
  limit: 2,
  window_seconds: 14_400,
  frees_at: "2026-01-14T13:00:00Z",
  last_at: "2026-01-14T11:00:00Z",
}

async function opened({ answers = {} } = {}) {
  const api = fakeApi({ "/cooldowns": { items: [RESTART], next: null, seq: 3 }, ...answers })
  const timers = fakeTimers()
  const said = []
  const acts = fakeJournal()
  const store = cooldowns({
    journal: acts,
    api,
    feed: fakeFeed(),
    clock: { second: NOON },
    toasts: { show: (text, how) => said.push({ text, bad: Boolean(how?.bad), undo: how?.undo }) },
    later: timers.setTimeout,
    now: () => NOON,
  })
  store.visit()
  await settled()
  return { store, api, timers, said, acts }
}

test("the page reloads once when a slot becomes available", async () => {
  const { store, api, timers } = await opened()

  store.tick(NOON + 3_599_000)
  assert.deepEqual(timers.delays, [])
  store.tick(NOON + 3_601_000)
  store.tick(NOON + 3_602_000)
  await timers.ring()

  assert.equal(api.asked.length, 2)
})

test("a reset runs at once and can be undone", async () => {
  const { store, api, said, acts } = await opened({
    answers: { "POST /cooldowns/courier/resets": { service: "courier", cleared: 2 } },
  })

  await store.reset(RESTART)
  assert.deepEqual(api.asked[1].body, { action: "restart" })
  assert.equal(said[0].text, "courier can be restarted again now.")
  await said[0].undo()

  assert.deepEqual(acts.undone, ["last"])
})

test("a refused reset shows an error", async () => {
  const refused = await opened({ answers: { "POST /cooldowns/courier/resets": new Error("No such service.") } })

  await refused.store.reset(RESTART)

  assert.deepEqual([refused.said[0].text, refused.said[0].bad], ["Cooldown not reset. No such service.", true])
})

const USE = {
  name: "restart",
  action: "restart",
  service: "courier",
  attempts: 1,
  healthy_after: null,
  cleared_by: null,
}

test("a use shows its state, with notes only where they add information", () => {
  assert.equal(useWords("reserved"), "running")
  assert.equal(useNotes(USE), "")
  assert.equal(
    useNotes({ ...USE, name: "restart-2", attempts: 2, healthy_after: 4.2, cleared_by: "operator" }),
    "restart-2 · 2 attempts · healthy after 4.2 s · reset by a person",
  )
  assert.equal(useNotes({ ...USE, text: "Healthy again after 4.2 s", healthy_after: 4.2 }), "")
})

test("uses are filtered by the address", () => {
  const filters = useFilters(new URLSearchParams("service=courier&action=reboot"))

  assert.deepEqual(filters, { service: "courier", action: "" })
  assert.equal(useMatches(USE, filters), true)
  assert.equal(useMatches(USE, { service: "", action: "redeployment" }), false)
})

const ROOT = { id: 12, version: 1, tier: 1, status: "escalated", parent_id: null }
const CHILD = { id: 13, version: 1, tier: 2, status: "running", parent_id: 12 }
const HANDOFF = { session_id: 12, child_id: 13, tier: 2, service: "courier", reason: "gone", state: "taken", why: "" }

async function linked(found = { items: [ROOT, CHILD], handoffs: [HANDOFF], seq: 1 }) {
  const api = fakeApi({ "/sessions/13/chain": found, "/sessions/12/chain": found })
  const timers = fakeTimers()
  const store = chain({ api, feed: fakeFeed(), later: timers.setTimeout, now: () => NOON })
  await store.open(13)
  return { store, api, timers }
}

test("a chain is shown for several sessions, not for one or after an error", async () => {
  assert.equal((await linked({ items: [CHILD], handoffs: [], seq: 1 })).store.shown, false)
  assert.equal((await linked(new Error("no"))).store.shown, false)
  assert.equal((await linked()).store.shown, true)
})

test("a new child session reloads the chain, an unrelated session does not", async () => {
  const { store, api, timers } = await linked()

  store.follow(change("created", { id: 20, version: 1, parent_id: null, status: "running" }))
  assert.deepEqual(timers.delays, [])
  store.follow(change("created", { id: 14, version: 1, parent_id: 13, status: "running" }))
  await timers.ring()

  assert.equal(api.asked.length, 2)
})

test("a session in the chain shows its latest status", async () => {
  const { store } = await linked()

  store.follow(change("updated", { ...CHILD, version: 2, status: "completed" }))
  store.follow(change("updated", { ...CHILD, version: 1, status: "running" }))

  assert.equal(store.items[1].status, "completed")
})

test("only handoffs of this chain trigger a reload", async () => {
  const { store, timers } = await linked()

  store.followHandoff(change("created", { id: 1, version: 1, session_id: 99 }))
  assert.deepEqual(timers.delays, [])
  store.followHandoff(change("updated", { id: 3, version: 2, session_id: 13 }))
  assert.equal(timers.delays.length, 1)
})

test("opening a session of the chain keeps the chain, opening another session clears it", async () => {
  const { store } = await linked()

  store.open(12)
  assert.equal(store.items.length, 2)
  store.open(77)
  assert.equal(store.items.length, 0)
})

test("a handoff shows its sender, recipient and outcome", () => {
  assert.equal(handoffWay(HANDOFF), "#12 → #13, courier")
  assert.equal(handoffWay({ ...HANDOFF, child_id: null }), "#12 → tier 2, courier")
  assert.equal(handoffWay({ ...HANDOFF, child_id: null, state: "person" }), "#12 → a person, courier")
  const closed = { ...HANDOFF, child_id: null, state: "closed" }
  assert.equal(handoffWay(closed), "#12 → a person, courier")
  assert.equal(handoffState(HANDOFF), "")
  assert.equal(handoffState({ ...HANDOFF, state: "dropped", why: "the session failed" }), "dropped: the session failed")
})

test("the page names the setting for automatic resets and its default", async () => {
  const texts = Object.values(
    JSON.parse(await readFile(new URL("../../src/pages/cooldowns/page.json", import.meta.url))),
  )
  const told = texts.filter((text) => /healthy scheduled rounds/.test(text))

  assert.equal(told.length, 2)
  for (const text of told) assert.match(text, /LAMPLIGHTER_COOLDOWN_RESET \(30 minutes by default\)/)
})
