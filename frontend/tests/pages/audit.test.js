import assert from "node:assert/strict"
import test from "node:test"
import "../late-texts.js"
import { conflictsOf, factsOf, withoutWords } from "../../src/pages/audit/page.js"
import { audit } from "../../src/pages/audit/store.js"
import { SLOW_START, fakeApi } from "../fakes.js"

const NEVER = { count: 0, sessions: [] }
const AT = "2026-01-14T11:00:00.000000Z"
const BELIEF = {
  memory: { ...SLOW_START, trust: "observed", source: "marker", verified_at: null },
  confirmed: { count: 2, sessions: [{ session_id: 43, at: AT }] },
  contradicted: NEVER,
  told: NEVER,
  links: { count: 0, items: [] },
  reviews: { count: 0, items: [] },
  verification: null,
  inactive_from: null,
  prompt: { why: "Line 1 of 2.", position: 0, line: "- x", tokens: 9, added: [] },
}
const page = (ids, next) => ({
  items: ids.map((id) => ({ ...BELIEF, memory: { ...BELIEF.memory, id } })),
  ...{ next, service: "jellyfin", states: { active: 3, inactive: 1 } },
})
const router = { with: ({ topic }) => `/audit?topic=${topic}`, go: () => {} }

test("nothing is requested without a topic", async () => {
  const api = fakeApi({})
  const store = audit({ api, router })

  await store.visit(new URLSearchParams())

  assert.deepEqual([store.phase, api.asked.length], ["idle", 0])
})

test("all pages are loaded before printing", async () => {
  const printed = []
  const api = fakeApi({ "/audit": ({ cursor }) => (cursor ? page([8, 9], null) : page([7], "b")) })
  const store = audit({ api, router, print: () => printed.push(store.rows.length), painted: async () => {} })
  await store.visit(new URLSearchParams("topic=jellyfin"))
  assert.deepEqual([store.rows.length, store.words], [1, "3 active memories, 1 inactive"])

  await store.print()

  assert.deepEqual(printed, [3])
})

test("each memory shows its source, verification, contradictions and use", () => {
  const words = Object.fromEntries(factsOf(BELIEF).map(({ name, words }) => [name, words]))

  assert.match(words.source, /^session 42, observed, /)
  assert.match(words.confirmations, /^2 times; last session 43, /)
  assert.deepEqual(
    [words.contradictions, words.use, words.verified, words.fades],
    ["never", "in no prompt", "Never tested.", undefined],
  )
})

test("links and open reviews name the other memory", () => {
  const links = [{ what: "contradicts", direction: "to", memory_id: 8, observation: null, active: true, at: AT }]
  const reviews = [{ id: 3, kind: "conflict", memory_id: 8, said: "Takes 90s", at: AT }]

  const found = conflictsOf({ ...BELIEF, links: { count: 1, items: links }, reviews: { count: 1, items: reviews } })

  assert.deepEqual(
    found.map(({ address, what, text }) => [address, what, text]),
    [
      ["/reviews/3", "open, conflict", "Takes 90s"],
      ["/memories/8", "this memory contradicts it", "The other memory was deleted."],
    ],
  )
})

test("each memory shows how the next prompt changes without it", () => {
  assert.equal(withoutWords(BELIEF), "Line 1 of 2. Without it, the next prompt is 9 tokens shorter.")
  const out = { ...BELIEF, prompt: { why: "Below the budget line.", position: null, line: "", tokens: 0, added: [] } }
  assert.match(withoutWords(out), /^The next prompt is the same without it/)
  const replaced = { ...BELIEF, prompt: { ...BELIEF.prompt, added: ["- y"] } }
  assert.match(withoutWords(replaced), /includes instead:$/)
})
