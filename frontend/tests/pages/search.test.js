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

test("the address says what is looked for, and nonsense in it means nothing", () => {
  assert.deepEqual(searchQuery(new URLSearchParams("q= dns &layers=event,nonsense&since=7d&kind=odd&state=x")), {
    ...{ q: "dns", service: "", category: "", project: "", kind: "", tag: "", since: "7d", state: "" },
    layers: "event",
  })
  assert.equal(searchQuery(new URLSearchParams("layers=nonsense")).layers, "memory,session,page")
  assert.equal(searchParams(searchQuery(new URLSearchParams("since=1d")), NOON).since, "2026-01-13T12:00:00.000Z")
})

test("the words that were found are marked by characters, whatever they are", () => {
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

test("a long text is cut down to where the words stand", () => {
  const text = `${"x ".repeat(2_000)}needle${" y".repeat(2_000)}`
  const parts = marked(text, [[4_000, 4_006]])

  assert.ok(parts.map(({ text }) => text).join("").length < 200)
  assert.equal(parts[1].text, "needle")
  assert.ok(marked(text, [])[0].text.length < 500)
})

test("each layer stands for itself, those that were asked for even where nothing fits", () => {
  const groups = byLayer([hit()], ["memory", "session"])

  assert.deepEqual(
    groups.map(({ layer, hits }) => [layer, hits.length]),
    [
      ["memory", 1],
      ["session", 0],
    ],
  )
})

test("what was found before stays until the answer is there, and only the newest counts", async () => {
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

test("nothing to look for asks nobody", async () => {
  const { store, visit, asked } = open(found())

  await visit("q=%20&service=caddy")

  assert.deepEqual([store.phase, asked().length, store.filtered], ["idle", 0, true])
})

test("a search that fails leaves what was found, and says why", async () => {
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

test("a row in sight that changes is read again where it stands; one that is deleted stays, marked", async () => {
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

test("a layer is added and taken away, but never the last", async () => {
  const { store, visit, router } = open(found())
  await visit("q=a")

  store.toggle("event")
  await visit("q=a&layers=memory,session")
  store.toggle("session")
  await visit("q=a&layers=memory")
  store.toggle("memory")

  assert.deepEqual(router.gone, [{ layers: "memory,session,page,event" }, { layers: "memory" }])
})

test("what the words say of where to look, the buttons show and may change", async () => {
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

test("what is only near in meaning is told as that", async () => {
  const { store, visit } = open(found(hit(memory(), { method: "meaning" })))
  await visit("q=asdf")

  assert.equal(store.summary, "No keyword match for “asdf”. Closest by meaning:")
})

test("a partial answer is completed by itself, four times at most, and then left to the reader", async () => {
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

test("what was searched for is kept in this browser, newest first, until it is to be forgotten", async () => {
  const storage = fakeStorage({ "lamplighter.searches": '["dns", 7, "caddy"]' })
  const { store, visit } = open(found(), { storage })
  await visit("q=caddy")

  store.remember()
  assert.deepEqual(store.recent, ["caddy", "dns"])
  store.forget()

  assert.deepEqual(storage.held, {})
})
