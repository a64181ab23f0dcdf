import "../late-texts.js"
import assert from "node:assert/strict"
import test from "node:test"
import { verification } from "../../src/pages/memory/verification/store.js"
import { verificationPart } from "../../src/pages/memory/verification/part.js"
import { waysOf } from "../../src/pages/reviews/ways.js"
import { Problem } from "../../src/shared/api.js"
import { SLOW_START, fakeApi } from "../fakes.js"

const NOTHING = { verified_at: null, outcome: null, checks: [], reviews: [] }
const FAILED = { ...NOTHING, outcome: { state: "failed", evidence: [], untested: [] }, reviews: [3] }

function setUp(answers = {}) {
  const api = fakeApi({
    "/memories/7/verification": NOTHING,
    "/services": { items: [{ name: "jellyfin", checks: [{ name: "http" }] }] },
    ...answers,
  })
  const store = verification({ api })
  store.follow(SLOW_START)
  return { api, store }
}

test("a memory is verified on request and shows its outcome", async () => {
  const { store } = setUp({ "POST /memories/7/verify": FAILED })

  await store.verify()

  assert.deepEqual([store.outcome.state, store.reviews, store.busy], ["failed", [3], false])
})

test("an event marks a memory as to be verified until the next verification", () => {
  const marked = { marked_at: "2026-01-01T12:00:00Z", mark: "event 5: Deployed jellyfin 10.9" }
  const outcome = { state: "untested", evidence: [], untested: [], checked_at: null, ...marked }
  const part = verificationPart(() => ({ loaded: true, outcome, verified_at: null }))

  assert.equal(part.mark(), "To be verified after event 5: Deployed jellyfin 10.9")
  assert.equal(part.sum(), "Not verified yet.")
  Object.assign(outcome, { marked_at: null, mark: "", checked_at: marked.marked_at })
  assert.equal(part.mark(), "")
})

test("a declared check or a command can be attached", async () => {
  const { store, api } = setUp({ "POST /memories/7/checks": {} })
  await store.show()
  assert.equal(store.draft.chosen, "jellyfin/http")
  await store.attach()

  await store.show()
  Object.assign(store.draft, { chosen: "", command: " ls /srv ", cadence: 3_600 })
  await store.attach()

  const sent = api.asked.filter(({ method }) => method === "POST").map(({ body }) => body)
  assert.deepEqual(sent, [
    { service: "jellyfin", check: "http", cadence: 86_400 },
    { command: "ls /srv", cadence: 3_600 },
  ])
})

test("a refused command shows an error at its field and keeps the form open", async () => {
  const errors = [{ field: "command", message: "is refused: it changes files" }]
  const { store } = setUp({ "POST /memories/7/checks": new Problem({ status: 422, errors }) })
  await store.show()
  Object.assign(store.draft, { chosen: "", command: "rm x" })

  await store.attach()

  assert.match(store.errors.command, /is refused/)
  assert.equal(store.open, true)
})

test("a failed verification has three resolutions", () => {
  const ways = waysOf({ kind: "verification", old: SLOW_START, new: SLOW_START }, null)

  assert.deepEqual(
    ways.map(({ resolution, verb }) => [resolution, verb]),
    [
      ["keep_old", "Keep memory"],
      ["reword", "Correct text"],
      ["keep_new", "Set aside"],
    ],
  )
})
