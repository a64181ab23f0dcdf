import assert from "node:assert/strict"
import test from "node:test"
import "../late-texts.js"
import { previewRows, scaleOf, segments, whyWords } from "../../src/pages/preview/rows.js"
import { preview, previewQuery } from "../../src/pages/preview/store.js"
import { previewSearch } from "../../src/pages/preview/search.js"
import { fakeApi, fakeTimers, NOON } from "../fakes.js"

function placed(id, { position, tokens = 20, rank = id, left = 2_000 } = {}) {
  const line = `- [timing] Memory ${id} (confidence: 0.7)`
  const why = position === undefined ? "does not fit what is left of the budget" : "within the budget"
  return { id, version: 1, service: "jellyfin", line, tokens, rank, left, why, circle: "focus", position }
}

function told(included, excluded = [], more = {}) {
  const text = `## Environment\n${included.map(({ line }) => line).join("\n")}\n`
  const total = included.length + excluded.length
  return {
    system: "",
    prompt: "",
    text,
    tokens: 80,
    budget: 2_000,
    in_force: 2_000,
    total,
    included,
    excluded,
    ...more,
  }
}

const ALL = told([placed(1, { position: 0 }), placed(2, { position: 1 }), placed(3, { position: 2 })])
const LESS = told([placed(1, { position: 0 })], [placed(2, { left: 12 }), placed(3, { left: 12 })], { budget: 40 })

function setUp(answer = ({ budget }) => (budget === 40 ? LESS : ALL), at = "") {
  const api = fakeApi({ "/context": answer, "/sessions": { items: [] } })
  const timers = fakeTimers()
  const gone = []
  const router = {
    params: new URLSearchParams(at),
    with(changes) {
      const params = new URLSearchParams(this.params)
      for (const [name, value] of Object.entries(changes)) value ? params.set(name, value) : params.delete(name)
      return params.toString()
    },
    go(address) {
      gone.push(address)
      this.params = new URLSearchParams(address)
      return store.visit(this.params)
    },
  }
  const services = { loaded: true, names: ["jellyfin", "caddy"] }
  const store = preview({ api, router, services, clock: { now: NOON }, later: timers.setTimeout })
  const asked = () => api.asked.filter(({ path }) => path === "/context").map(({ body }) => body)
  return { store, timers, gone, asked, visit: () => store.visit(router.params), router }
}

test("the address contains all preview options", () => {
  const query = previewQuery(new URLSearchParams("tier=2&services=jellyfin,caddy&budget=1500&against=12&without=7,8"))

  assert.deepEqual(query, {
    tier: 2,
    services: ["jellyfin", "caddy"],
    budget: 1_500,
    against: "12",
    as_of: "",
    without: [7, 8],
  })
  assert.deepEqual(previewQuery(new URLSearchParams("tier=9&budget=x&against=-1&as_of=never")), {
    tier: 1,
    services: [],
    budget: null,
    against: "",
    as_of: "",
    without: [],
  })
})

test("a memory that drops out stays in the list with its reason", async () => {
  const { store, visit } = setUp(undefined, "budget=40")

  await visit()

  assert.deepEqual(
    store.rows.map(({ id, state }) => [id, state]),
    [
      [1, "in"],
      [2, "falls"],
      [3, "falls"],
    ],
  )
  assert.equal(store.effect, "At 40 tokens 2 drop out.")
  assert.equal(whyWords(store.rows[1]), "about jellyfin · needs 20 tokens, 12 left")
})

test("moving the budget slider sends one request, and the active prompt is not reloaded", async () => {
  const { store, visit, timers, asked, gone } = setUp()
  await visit()

  for (const budget of [1_900, 900, 40]) store.move(budget)
  await timers.ring()

  assert.deepEqual(gone, ["budget=40"])
  assert.deepEqual(
    asked().map(({ budget }) => budget),
    [undefined, 40],
  )
})

test("the response to the latest request wins", async () => {
  const waiting = []
  const { store, visit, router } = setUp(({ budget }) =>
    budget ? new Promise((resolve) => waiting.push(() => resolve(told([], [], { budget })))) : ALL,
  )
  await visit()

  const first = router.go("budget=100")
  const second = router.go("budget=200")
  waiting[1]()
  waiting[0]()
  await Promise.all([first, second])

  assert.equal(store.context.budget, 200)
})

test("an excluded memory keeps its row, and its replacement appears by rank", () => {
  const base = told([placed(1, { position: 0 }), placed(2, { position: 1 })])
  const now = told([placed(2, { position: 0, rank: 0 }), placed(5, { position: 1, rank: 1 })])

  const rows = previewRows(base, now, [1])

  assert.deepEqual(
    rows.map(({ id, state }) => [id, state]),
    [
      [1, "without"],
      [2, "in"],
      [5, "comes"],
    ],
  )
})

test("a session without a prompt shows an error, and the preview stays", async () => {
  const refusal = Object.assign(new Error("Session 9 was told nothing."), { status: 404 })
  const { store, visit } = setUp(({ compare_to }) => (compare_to ? refusal : ALL), "against=9")

  await visit()

  assert.deepEqual([store.phase, store.compareProblem, store.comparison], ["ready", "Session 9 was told nothing.", ""])
})

test("the difference from a session's prompt is summarized", async () => {
  const diff = { against: "12", added: ["- a"], removed: ["- b", "- c"], text: "…" }
  const { store, visit } = setUp(({ compare_to }) => (compare_to ? { ...ALL, diff } : ALL), "against=12")
  await visit()
  const words = store.comparison
  store.diff = { ...diff, added: [], removed: [], text: "" }

  assert.equal(words, "Compared with session 12: 2 lines are only in its prompt; 1 line is only here.")
  assert.equal(store.comparison, "Session 12 had exactly this prompt.")
})

test("live changes are counted until a refresh", async () => {
  const { store, visit, asked } = setUp()
  await visit()

  store.follow({ op: "updated", row: {} })
  store.follow({ op: "batch", row: { ids: [1, 2] } })

  assert.equal(asked().length, 1)
  assert.equal(store.pill, "3 changes since: refresh")
  await store.load()
  assert.equal(store.since, 0)
})

test("unknown services are named", async () => {
  const { store, visit } = setUp(undefined, "services=Jellyfin,nobody")

  await visit()

  assert.deepEqual(store.unknown, ["nobody"])
})

test("bar segments are proportional to their tokens, and the scale covers twice the active budget", () => {
  const shares = segments(ALL, 4_000).map(({ share }) => share)

  assert.deepEqual(shares, [20 / 4_000, 20 / 4_000, 20 / 4_000, 20 / 4_000])
  assert.deepEqual(
    [scaleOf(2_000, 2_000), scaleOf(4_001, 2_000), scaleOf(1_000_000, 2_000), scaleOf(5, 0)],
    [4_000, 10_000, 1_000_000, 4_000],
  )
})

test("a search finds any memory and says why the current prompt includes or omits it", async () => {
  const found = { items: [{ id: 7, title: "", observation: "Takes 60s" }], total: 12 }
  const place = {
    included: false,
    words: "Below the budget line. Rank 9 of 12.",
    ways: [{ words: "a budget of 90 tokens" }],
  }
  const api = fakeApi({ "/memories": found, "/memories/7/prompt": place })
  const timers = fakeTimers()
  const search = previewSearch({ api, later: timers.setTimeout })
  const query = previewQuery(new URLSearchParams("services=jellyfin&budget=40&without=3"))

  search.type("60", query)
  search.type("60s", query)
  await timers.ring()

  assert.equal(api.asked.filter(({ path }) => path === "/memories").length, 1)
  const { services, budget, exclude } = api.asked.at(-1).body
  assert.deepEqual([services, budget, exclude], ["jellyfin", 40, "3"])
  assert.deepEqual(search.rows, [
    {
      id: 7,
      text: "Takes 60s",
      included: false,
      state: "Not in the prompt.",
      why: "Below the budget line. Rank 9 of 12.",
      ways: ["a budget of 90 tokens"],
    },
  ])
  assert.equal(search.note, "The first 1 of 12 memories that match.")

  search.type("#7", query)
  await timers.ring()
  assert.equal(api.asked.findLast(({ path }) => path === "/memories").body.ids, "7")
})
