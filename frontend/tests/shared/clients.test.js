import assert from "node:assert/strict"
import { test } from "node:test"
import "../late-texts.js"
import { clientWords, sessionsPage } from "../../src/pages/sessions/page.js"
import { changedLines, paired, turnsOf } from "../../src/pages/session/prompt-changes.js"
import { session } from "../../src/pages/session/store.js"
import { change, fakeApi, fakeFeed, fakeTimers, memory } from "../fakes.js"

const CLIENT = { id: 5, version: 1, status: "running", tier: 0, trigger: "client", agent: "coder", project: "shop" }
const OPS = { ...CLIENT, id: 6, trigger: "manual", tier: 1, engine: "claude", services: null }

function open(row, told = new Error("none")) {
  const api = fakeApi({
    [`/sessions/${row.id}`]: row,
    [`/sessions/${row.id}/prompt`]: told,
    [`/sessions/${row.id}/markers`]: { items: [], seq: 1 },
    [`/sessions/${row.id}/searches`]: { items: [], seq: 1 },
    "/reviews": { items: [], seq: 1 },
    "/events": { items: [], seq: 1 },
    "/memories": { items: [memory({ id: 7, session_id: row.id })], total: 3, seq: 1 },
  })
  const log = { open() {}, read() {}, choose() {}, complete: true, whole: true }
  const chain = { open: async () => {}, exit() {} }
  const timers = fakeTimers()
  const store = session({ api, feed: fakeFeed(), log, chain, engines: { load() {} }, timers })
  return { store, api, timers }
}

async function settled(store, row, part = "") {
  store.visit(row.id, part)
  for (let n = 0; n < 5; n++) await new Promise(setImmediate)
}

test("a client session shows its saved memories and does not read a log", async () => {
  const { store, api, timers } = open(CLIENT)

  await settled(store, CLIENT)

  assert.deepEqual([store.part, store.saved.length, store.savedCount], ["saved", 1, 3])
  assert.ok(!api.asked.some(({ path }) => /markers|searches|events|reviews/.test(path)))
  await timers.ring()
  assert.deepEqual(timers.delays, [])
})

test("saved memories follow the feed and exclude those of other sessions", async () => {
  const { store } = open(CLIENT)
  await settled(store, CLIENT)

  store.followMemory(change("created", memory({ id: 8, session_id: 5 })))
  store.followMemory(change("created", memory({ id: 9, session_id: 6 })))
  store.followMemory(change("updated", memory({ id: 7, session_id: 5, version: 2, observation: "newer" })))
  store.followMemory(change("deleted", memory({ id: 8, session_id: 5 })))

  assert.deepEqual(
    store.saved.map(({ id, observation }) => [id, observation]),
    [[7, "newer"]],
  )
  assert.equal(store.savedCount, 3)
})

test("a session without a client shows its output", async () => {
  const { store } = open(OPS)

  await settled(store, OPS)

  assert.deepEqual([store.part, store.savedKnown], ["output", false])
})

test("a client row shows its agent and project, without services, tier or engine", () => {
  const store = () => ({ grouped: false, fresh: {} })
  const page = sessionsPage(store)

  assert.equal(clientWords(CLIENT), "coder, in shop")
  assert.equal(clientWords({ ...CLIENT, agent: null }), "a client, in shop")
  assert.deepEqual([page.aboutOf(CLIENT), page.tierOf(CLIENT, [CLIENT])], ["coder, in shop", "no tier"])
  assert.deepEqual([page.aboutOf(OPS), page.summaryOf(OPS)], ["all services", ""])
  assert.equal(page.summaryOf({ ...CLIENT, summary: "x".repeat(500) }).length, 161)
})

const retold = (injected, more) => ({ at: "", query: "", injected, tokens: 1, memories: [], ...more })

test("each turn is compared with the previous one, the first with the initial prompt", () => {
  const placed = [
    { memory_id: 1, position: 0 },
    { memory_id: 2, position: null },
  ]
  const turns = turnsOf("a", [retold("b"), retold("c", { memories: placed })])

  assert.deepEqual(
    turns.map(({ turn, before, included }) => [turn, before, included]),
    [
      [1, "a", 0],
      [2, "b", 1],
    ],
  )
})

test("a changed prompt is compared line by line, and changed lines word by word", () => {
  const before = "# Head\n- [timing] Takes 60s to start\n- [behavior] Old one\n"
  const after = "# Head\n- [timing] Takes 60s to stop\n\n- [decision] Use WAL\n"

  const lines = changedLines(before, after)

  assert.deepEqual([lines.come.length, lines.gone.length, lines.stayed, lines.moved], [2, 2, 1, false])
  assert.deepEqual(
    paired(lines).map(({ parts }) => parts.map(({ kind }) => kind)),
    [["gone"], ["same", "gone", "new"], ["new"]],
  )
})

test("reordered lines are not a text change", () => {
  assert.equal(changedLines("a\nb", "b\na").moved, true)
  assert.equal(changedLines("a\nb", "a\nb").moved, false)
})
