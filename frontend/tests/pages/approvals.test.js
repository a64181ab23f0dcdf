import assert from "node:assert/strict"
import test from "node:test"
import "../late-texts.js"
import { Problem } from "../../src/shared/api.js"
import { piecesOf, quoted } from "../../src/shared/format/argv.js"
import { approvals } from "../../src/shared/stores/approvals.js"
import { approvalsPage } from "../../src/pages/approvals/page.js"
import { approvalQueue } from "../../src/pages/approvals/store.js"
import { change, fakeApi, fakeFeed, NOON } from "../fakes.js"

const RESTART = {
  ...{ id: 12, version: 1, state: "open", service: "web", action: "restart", name: "restart" },
  ...{ argv: ["docker", "restart", "web"], directory: null, edited: false, reason: "answers 502", memories: [7] },
  ...{ session_id: 3, tier: 3, replaces: null, use_id: null, decided_by: null, decided_at: null, note: "" },
  ...{ created_at: "2026-01-14T12:00:00.000000Z", expires_at: "2026-01-14T12:05:00.000000Z" },
}
const asked = (changes) => ({ ...RESTART, ...changes })
const LATER = asked({ id: 13, service: "db", expires_at: "2026-01-14T12:09:00.000000Z" })

async function opened(answers = {}, { open = [RESTART] } = {}) {
  const byId = Object.fromEntries(
    [RESTART, LATER].map((row) => [`GET /approvals/${row.id}`, { ...row, seconds_left: 300 }]),
  )
  const api = fakeApi({
    "GET /approvals": (params) => ({ items: params.state === "open" ? [...open] : [], next: null, seq: 1 }),
    "GET /sessions/3": { id: 3, engine: "probe", model: null },
    ...byId,
    ...answers,
  })
  const said = []
  const toasts = { show: (text) => said.push(text), announce: (text) => said.push(text) }
  const waiting = approvals({ api, feed: fakeFeed() })
  const clock = { second: NOON }
  const live = { offline: false, stale: false }
  let at = NOON
  const now = () => at
  const store = approvalQueue({ api, feed: fakeFeed(), approvals: waiting, clock, live, toasts, now, later: () => {} })
  store.visit(new URLSearchParams(), null)
  await new Promise(setImmediate)
  store.gather(waiting.open)
  await new Promise(setImmediate)
  const puts = () => api.asked.filter(({ method }) => method === "PUT")
  return { store, waiting, api, said, live, clock, puts, pass: (ms) => (at += ms) }
}

test("a person is named only with their own decision", () => {
  const page = approvalsPage(() => ({}))
  const named = (changes) => page.decider(asked({ decided_by: "anna", ...changes }))

  assert.equal(named({ state: "denied" }), "by anna")
  assert.equal(named({ state: "withdrawn" }), "after approval by anna")
  assert.equal(named({ state: "withdrawn", decided_by: null }), "")
  const row = asked({ state: "withdrawn", decided_by: "anna" })
  assert.equal(page.decidedElsewhere({ row }), "Decided by someone else: withdrawn after approval by anna.")
})

test("spaces, invisible characters and empty arguments are made visible", () => {
  const texts = piecesOf("a b\u202ec").map(({ sign, text }) => [sign, text])

  assert.deepEqual(texts, [
    [false, "a"],
    [true, "·"],
    [false, "b"],
    [true, "U+202E"],
    [false, "c"],
  ])
  assert.deepEqual(
    piecesOf("").map(({ text }) => text),
    ["empty argument"],
  )
})

test("a command is copied with shell quoting", () => {
  assert.equal(quoted(["docker", "exec", "it's", "", "a b"]), "docker exec 'it'\\''s' '' 'a b'")
})

test("open approvals follow the feed, ordered by expiry", async () => {
  const { waiting } = await opened()

  waiting.follow(change("created", LATER, 2, "approval"))
  assert.deepEqual(
    waiting.open.map(({ id }) => id),
    [12, 13],
  )
  waiting.follow(change("updated", asked({ version: 2, state: "denied" }), 3, "approval"))
  waiting.follow(change("updated", asked({ version: 1 }), 2, "approval"))

  assert.deepEqual(
    [waiting.waits, waiting.of(3).length, waiting.words],
    [2, 2, "Waiting for approval: restart of db, requested by session 3"],
  )
})

test("past decisions stay hidden until the open approvals above them are loaded", async () => {
  const { store, waiting } = await opened({}, { open: [] })
  assert.equal(store.unknown, false)

  store.phase = "loading"
  assert.equal(store.unknown, true)
  store.phase = "ready"
  waiting.loaded = false
  assert.equal(store.unknown, true)

  const other = await opened()
  other.store.phase = "loading"
  assert.equal(other.store.unknown, false)
})

test("approvals appear in order, even if their requests finish out of order", async () => {
  let answer = () => {}
  const first = new Promise((resolve) => (answer = () => resolve({ ...RESTART, seconds_left: 300 })))
  const { store } = await opened({ "GET /approvals/12": () => first }, { open: [RESTART, LATER] })
  assert.deepEqual(store.cards, [])
  assert.equal(store.unknown, true)

  answer()
  await new Promise(setImmediate)

  assert.deepEqual(
    store.cards.map(({ id }) => id),
    [12, 13],
  )
})

test("a double press approves nothing; approving requires a later confirmation", async () => {
  const approved = asked({ version: 2, state: "approved", decided_by: "anna" })
  const { store, puts, pass } = await opened({ "PUT /approvals/12/decision": approved })

  store.ask("approve")
  store.ask("approve")
  assert.deepEqual([puts().length, store.form], [0, "approve"])

  pass(400)
  await store.confirm()

  assert.deepEqual(
    puts().map(({ body, version }) => [body, version]),
    [[{ decision: "approve" }, "12-1"]],
  )
  assert.equal(store.rowsById[12].state, "approved")
})

test("a denial includes the note", async () => {
  const { store, puts } = await opened({ "PUT /approvals/12/decision": asked({ version: 2, state: "denied" }) })

  store.ask("deny")
  store.draft.note = " not during the backup "
  await store.submit()

  assert.deepEqual(puts()[0].body, { decision: "deny", note: "not during the backup" })
})

test("an edit sends the new arguments and opens the new approval", async () => {
  const fresh = asked({ id: 14, argv: ["docker", "stop", "web"], replaces: 12, edited: true })
  const { store, puts } = await opened({
    "PUT /approvals/12/decision": fresh,
    "GET /approvals/14": { ...fresh, seconds_left: 100 },
  })

  store.ask("edit")
  assert.equal(store.changed, false)
  store.draft.words[1].text = "stop"
  await store.submit()

  assert.deepEqual([puts()[0].body, store.at], [{ decision: "edit", argv: ["docker", "stop", "web"] }, 14])
})

test("a decision made elsewhere is shown with the person who made it", async () => {
  let state = {}
  const { store } = await opened({
    "GET /approvals/12": () => ({ ...asked(state), seconds_left: 0 }),
    "PUT /approvals/12/decision": new Problem({ status: 409, detail: "It was denied by bert." }),
  })

  state = { version: 2, state: "denied", decided_by: "bert" }
  store.ask("deny")
  await store.submit()

  assert.deepEqual([store.decidedElsewhere[12], store.form, store.rowsById[12].decided_by], [true, "", "bert"])
})

test("an expired approval stays in place and its form closes", async () => {
  const { store } = await opened()

  store.ask("deny")
  store.follow(change("updated", asked({ version: 2, state: "expired" }), 5, "approval"))

  assert.deepEqual([store.ids, store.form, store.decidedElsewhere[12], store.may()], [[12], "", true, false])
})

test("a late response does not overwrite a newer outcome from the feed", async () => {
  const used = asked({ version: 3, state: "used", use_id: 5 })
  const { store } = await opened({
    "GET /approvals/12": { ...used, seconds_left: 0, use: { id: 5, version: 1, outcome: "reserved" } },
  })

  const looking = store.loadDetail(12)
  store.followUse(change("updated", { id: 5, version: 2, outcome: "success" }))
  await looking

  assert.equal(store.details[12].use.outcome, "success")
})

test("decisions are disabled without a connection", async () => {
  const { store, live } = await opened()

  live.stale = true
  store.ask("deny")

  assert.deepEqual([store.may(), store.form], [false, ""])
})

test("the last minute is announced once", async () => {
  const { store, clock, said } = await opened()

  clock.second = NOON + 250_000
  store.tick()
  store.tick()

  assert.deepEqual(said, ["One minute left to approve: restart of web"])
})

test("the address of a replaced request opens its replacement", async () => {
  const gone = { ...asked({ version: 2, state: "withdrawn" }), seconds_left: 0, replaced_by: 13 }
  const repeated = { ...LATER, replaces: 12 }
  const { store } = await opened({ "GET /approvals/12": gone, "GET /approvals/13": repeated }, { open: [] })

  await store.bring(12)

  assert.equal(store.at, 13)
  store.choose(12)
  store.keep({ ...repeated, version: 0 })
  assert.equal(store.at, 12)
  delete store.rowsById[13]
  store.keep(repeated)
  assert.equal(store.at, 13)
})
