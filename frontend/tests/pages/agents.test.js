import assert from "node:assert/strict"
import { test } from "node:test"
import "../late-texts.js"
import { agents } from "../../src/pages/settings/agents.js"
import { tokens } from "../../src/pages/settings/tokens.js"
import { fakeApi, NOON } from "../fakes.js"

const CODER = {
  ...{ name: "coder", project: "shop", declared: true, context_limit: 0, auto_save: true, auto_search: false },
  ...{ auto_summarize: true, save_rules: 2, inject_rules: 0, memory_url: "", last_seen_at: "2026-01-14T11:00:00Z" },
  ...{ sessions: 3, running: 1, saved: 12 },
}

test("an agent shows its settings and its activity", async () => {
  const store = agents({ api: fakeApi({ "/agents": { items: [CODER] } }), clock: { now: NOON } })

  await store.load()

  assert.deepEqual(store.switches(store.items[0]).map(store.switchWords), [
    "automatic save",
    "off: automatic search",
    "session summaries",
    "off: 0 memories per turn",
    "2 save rules",
  ])
  assert.equal(store.did(CODER), "3 sessions · 1 open · 12 memories saved · last connected 1 h ago")
  assert.equal(store.did({ ...CODER, last_seen_at: null }), "Never connected.")
  assert.deepEqual(store.names, ["coder"])
})

test("a failed request for agents shows an error, not an empty list", async () => {
  const store = agents({ api: fakeApi({ "/agents": new Error("forbidden") }), clock: { now: NOON } })

  await store.load()

  assert.deepEqual([store.phase, store.problem], ["failed", "forbidden"])
})

test("a token is bound to an agent only if one is entered", async () => {
  const made = { id: 1, token: "lamp_x" }
  const api = fakeApi({ "/tokens": { items: [] }, "POST /tokens": made })
  const store = tokens({ api, confirm: {}, toasts: {}, now: () => NOON })
  for (const agent of [" coder ", ""]) {
    store.show()
    store.draft.agent = agent
    await store.create()
  }

  const sent = api.asked.filter(({ method }) => method === "POST").map(({ body }) => body.agent)

  assert.deepEqual(sent, ["coder", undefined])
})
