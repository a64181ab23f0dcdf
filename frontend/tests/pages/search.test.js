import assert from "node:assert/strict"
import { test } from "node:test"
import { byLayer, marked } from "../../src/pages/search/hits.js"
import { searchParams, search, searchQuery } from "../../src/pages/search/store.js"
import "../late-texts.js"
import { change, fakeApi, fakeFeed, fakeStorage, fakeTimers, memory, NOON } from "../fakes.js"

const FACETS = { services: [], categories: [], projects: [] }

function hit(row = memory({}), more = {}) {
  return {
    layer: "memory",
    rank: 1,
    score: 1,
    method: "words",
    reasons: [],
    text: row.observation,
    spans: [],
    memory: row,
    ...more,
  }
}

function found(...items) {
  return { items, seq: 1, terms: [], partial: false, missing: [], layers: ["memory", "session"], filters: [] }
}

function open(answer, { storage = fakeStorage() } = {}) {
  const timers = fakeTimers()
  const api = fakeApi({ "/search": answer, "/memories/facets": FACETS })
  const router = { gone: [], go: (address) => router.gone.push(address), with: (changes) => changes }
  const store = search({ api, feed: fakeFeed(), router, storage, now: () => NOON, later: timers.setTimeout })
  const visit = (address) => store.visit(new URLSearchParams(address))
  return { store, api, router, timers, visit, asked: () => api.asked.filter(({ path }) => path === "/search") }
}

test("the address contains the query, and invalid values are ignored", () => {
  assert.deepEqual(searchQuery(new URLSearchParams("q= dns &layers=event,nonsense&since=7d&kind=odd&state=x")), {
    ...{ q: "dns", service: "", category: "", project: "", kind: "", tag: "", since: "7d", state: "" },
    layers: "event",
  })
  assert.equal(searchQuery(new URLSearchParams("layers=nonsense")).layers, "memory,session,page")
  assert.equal(searchParams(searchQuery(new URLSearchParams("since=1d")), NOON).since, "2026-01-13T12:00:00.000Z")
})

test("matches are highlighted by character, including emoji and markup", () => {
  const kinds = (text, spans) => marked(text, spans).map(({ kind, text }) => [kind, text])

  assert.deepEqual(kinds("🔥🔥 is hot", [[0, 2]]), [
    ["hit", "🔥🔥"],
    ["same", " is hot"],
  ])
  assert.deepEqual(
    kinds("a <b> c", [
      [2, 5],
      [4, 5],
      [90, 99],
    ]),
    [
      ["same", "a "],
      ["hit", "<b>"],
      ["same", " c"],
    ],
  )
  assert.deepEqual(kinds("plain", []), [["same", "plain"]])
})

test("a long text is shortened around its matches", () => {
  const text = `${"x ".repeat(2_000)}needle${" y".repeat(2_000)}`
  const parts = marked(text, [[4_000, 4_006]])

  assert.ok(parts.map(({ text }) => text).join("").length < 200)
  assert.equal(parts[1].text, "needle")
  assert.ok(marked(text, [])[0].text.length < 500)
})

test("results are grouped by layer, including requested layers without results", () => {
  const groups = byLayer([hit()], ["memory", "session"])

  assert.deepEqual(
    groups.map(({ layer, hits }) => [layer, hits.length]),
    [
      ["memory", 1],
      ["session", 0],
    ],
  )
})

test("previous results stay until the response arrives, and only the latest response counts", async () => {
  const pending = []
  const { store, visit } = open(() => new Promise((resolve) => pending.push(resolve)))
  const first = visit("q=old")
  pending[0](found(hit()))
  await first

  const [second, third] = [visit("q=new"), visit("q=newest")]
  assert.deepEqual([store.phase, store.busy, store.found.items.length, store.answered], ["ready", true, 1, "old"])
  pending[2](found())
  await third
  pending[1](found(hit(), hit(memory({ id: 9 }))))
  await second

  assert.deepEqual([store.answered, store.empty, store.busy], ["newest", true, false])
})

test("a blank query sends no request", async () => {
  const { store, visit, asked } = open(found())

  await visit("q=%20&service=caddy")

  assert.deepEqual([store.phase, asked().length, store.filtered], ["idle", 0, true])
})

test("a failed search keeps the results and shows an error", async () => {
  const answers = [found(hit()), new Error("The server cannot be reached.")]
  const { store, visit } = open(() => {
    const next = answers.shift()
    if (next instanceof Error) throw next
    return next
  })

  await visit("q=a")
  await visit("q=b")

  assert.deepEqual(
    [store.phase, store.found.items.length, store.problem],
    ["ready", 1, "The server cannot be reached."],
  )
})

test("a changed result is updated in place, a deleted one stays and is marked", async () => {
  const rows = [memory({ id: 1 }), memory({ id: 2 })]
  const newer = memory({ id: 2, version: 2, observation: "Takes 90s" })
  const answers = [found(...rows.map((row) => hit(row))), found(hit(newer), hit(rows[0]))]
  const { store, visit, timers } = open(() => answers.shift())
  await visit("q=takes")

  store.follow("memory", change("updated", newer))
  store.follow("memory", change("updated", memory({ id: 99 })))
  await timers.ring()
  await new Promise(setImmediate)

  assert.deepEqual(
    store.found.items.map(({ memory: { id }, text }) => [id, text]),
    [
      [1, rows[0].observation],
      [2, "Takes 90s"],
    ],
  )
  store.follow("memory", change("deleted", rows[0]))
  assert.equal(store.gone["memory 1"], true)
})

test("layers can be added and removed, except the last one", async () => {
  const { store, visit, router } = open(found())
  await visit("q=a")

  store.toggle("event")
  await visit("q=a&layers=memory,session")
  store.toggle("session")
  await visit("q=a&layers=memory")
  store.toggle("memory")

  assert.deepEqual(router.gone, [{ layers: "memory,session,page,event" }, { layers: "memory" }])
})

test("buttons show the filters typed in the query and can change them", async () => {
  const { store, visit, router } = open({ ...found(), layers: ["event"], filters: ["in:events", "service:caddy"] })
  await visit("q=slow in:events service:caddy")

  assert.deepEqual(store.typed, ["in:events", "service:caddy"])
  assert.equal(store.searchesIn("event"), true)
  assert.equal(store.searchesIn("memory"), false)
  assert.equal(store.filtered, true)

  store.untype("service:caddy")
  store.toggle("memory")
  assert.deepEqual(router.gone, [{ q: "slow in:events" }, { layers: "memory,event", q: "slow service:caddy" }])
})

test("semantic matches without a keyword match are labeled", async () => {
  const { store, visit } = open(found(hit(memory(), { method: "meaning" })))
  await visit("q=asdf")

  assert.equal(store.summary, "No keyword match for “asdf”. Closest by meaning:")
})

test("a partial response is retried up to four times, and not after the user leaves", async () => {
  const late = { ...found(hit()), partial: true, missing: ["session", "vectors"] }
  const answers = [late, found(hit(), hit())]
  const { store, visit, timers, asked } = open(() => answers.shift() ?? late)
  await visit("q=dns")
  assert.deepEqual([store.retrying, store.found.items.length], [true, 1])

  await timers.ring()
  assert.deepEqual([store.retrying, store.found.partial, store.found.items.length], [false, false, 2])

  await visit("q=wal")
  for (const ms of [1_000, 2_000, 4_000, 8_000]) {
    assert.deepEqual(timers.delays, [ms])
    await timers.ring()
  }
  assert.deepEqual([store.retrying, store.found.partial, asked().length], [false, true, 7])

  await visit("q=port")
  store.exit()
  await timers.ring()
  assert.equal(asked().length, 8)
})

test("recent searches are stored in the browser, latest first, until cleared", async () => {
  const storage = fakeStorage({ "lamplighter.searches": '["dns", 7, "caddy"]' })
  const { store, visit } = open(found(), { storage })
  await visit("q=caddy")

  store.remember()
  assert.deepEqual(store.recent, ["caddy", "dns"])
  store.forget()

  assert.deepEqual(storage.held, {})
})
