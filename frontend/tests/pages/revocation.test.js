import assert from "node:assert/strict"
import test from "node:test"
import "../late-texts.js"
import { revocation } from "../../src/pages/session/revocation.js"
import { memory } from "../fakes.js"

const NOTHING = {
  counts: { removed: 0, restored: 0, inherited: 0, decisions: 0 },
  removed: [],
  changed: [],
  inherited: [],
  decisions: [],
  derived: [],
  effects: [],
  act: null,
}
const SOME = {
  ...NOTHING,
  counts: { removed: 1, restored: 1, inherited: 0, decisions: 1 },
  removed: [memory({ id: 7, service: "jellyfin", observation: "Takes 60s" })],
  changed: [
    {
      before: memory({ id: 8, service: null, observation: "Needs redis", confidence: 0.5 }),
      after: memory({ id: 8, service: null, observation: "Needs redis", confidence: 0.7 }),
    },
  ],
  decisions: [{ memory: memory({ id: 9, service: null, observation: "Kept" }), cause: "edited", version: 2 }],
  effects: [
    { scope: "all services", added: [], removed: [], text: "--- before\n+++ now\n-- [timing] Takes 60s\n+\n ok" },
  ],
}

function setUp(answers) {
  const asked = []
  const shown = []
  const api = {
    async post(path, body) {
      asked.push([path, body])
      const answer = answers[path]
      if (answer instanceof Error) throw answer
      return answer
    },
  }
  const journal = { undoing: () => "undo" }
  const toasts = { show: (words, how) => shown.push([words, how]) }
  return { store: revocation({ api, toasts, journal }), asked, shown }
}

test("the preview lists removed, restored and kept items, and the change to the prompt", async () => {
  const { store } = setUp({ "/revocations/preview": SOME })

  await store.show({ session: 42 })

  assert.equal(store.title, "Revoke session 42")
  assert.deepEqual(
    store.parts.map(({ title, lines }) => [title, lines.map(({ parts: [{ kind, text }] }) => [kind, text])]),
    [
      ["1 memory is removed", [["same", "7  jellyfin: Takes 60s"]]],
      ["1 memory gets earlier values", [["same", "8  Needs redis (0.5 → 0.7)"]]],
      ["1 decision of yours is kept", [["same", "9  Kept (edited)"]]],
      ["Next prompt: all services", [["gone", "-- [timing] Takes 60s"]]],
    ],
  )
  assert.equal(store.ready, true)
})

test("a revocation is one request with one undo", async () => {
  const { store, asked, shown } = setUp({ "/revocations/preview": SOME, "/revocations": SOME })
  await store.show({ agent: "coder" })

  await store.revoke()

  assert.deepEqual(asked.at(-1), ["/revocations", { agent: "coder" }])
  assert.equal(store.open, false)
  assert.deepEqual(shown, [["Revoked. 2 memories were removed or restored.", { undo: "undo" }]])
})

test("an empty or failed preview revokes nothing", async () => {
  const empty = setUp({ "/revocations/preview": NOTHING })
  await empty.store.show({ session: 1 })
  assert.deepEqual([empty.store.empty, empty.store.ready], [true, false])

  const failed = setUp({ "/revocations/preview": new Error("Session 1 is still running.") })
  await failed.store.show({ session: 1 })
  await failed.store.revoke()
  assert.deepEqual([failed.store.phase, failed.store.problem], ["failed", "Session 1 is still running."])
  assert.equal(failed.asked.length, 1)
})
