import "../late-texts.js"
import assert from "node:assert/strict"
import test from "node:test"
import { confirm } from "../../src/shared/dialogs/confirm.js"
import { places } from "../../src/pages/graph/layout.js"
import { graph } from "../../src/pages/graph/store.js"
import { toasts } from "../../src/shared/parts/toasts.js"
import { fakeApi, fakeJournal, fakeTimers } from "../fakes.js"

const ADA = entity(1, "Ada", "person")
const REDIS = entity(2, "Redis", "tool")
const VALKEY = entity(3, "Valkey", "tool")
const USES = edge(10, 1, 2)
const REPLACES = edge(11, 3, 2, "replaces")
const PROOF = { id: 7, observation: "Ada uses Redis." }

function entity(id, name, kind, more = {}) {
  return { id, name, kind, project: "ops", current: true, version: 1, depth: id === 1 ? 0 : 1, ...more }
}

function edge(id, source_id, target_id, kind = "uses") {
  return { id, source_id, target_id, kind, confidence: 0.9 }
}

function setUp(answers = {}) {
  const api = fakeApi({
    "/entities": { items: [ADA], next: null, total: 1 },
    "/entities/1": { ...ADA, names: ["Ada"], evidence: [], neighbors: [neighbor(USES, REDIS)] },
    "/entities/3": { ...VALKEY, names: ["Valkey", "Redis fork"], evidence: [], neighbors: [neighbor(REPLACES, REDIS)] },
    "/graph": { center: 1, nodes: [ADA, REDIS, VALKEY], edges: [USES, REPLACES], more: false },
    "POST /entities/3/merge": { ...REDIS, version: 2 },
    ...answers,
  })
  const said = toasts({ timers: fakeTimers() })
  const asker = confirm()
  const acts = fakeJournal()
  const gone = []
  const router = { go: (path) => gone.push(path) }
  const store = graph({ api, confirm: asker, router, toasts: said, journal: acts, later: () => {} })
  return { api, said, asker, acts, gone, store }
}

function neighbor(relationship, other) {
  return { relationship, entity: other, evidence: [PROOF] }
}

async function visited(answers) {
  const all = setUp(answers)
  await all.store.visit(new URLSearchParams(), 1)
  return all
}

test("an entity is loaded with its neighborhood, and the lists include all drawn relationships", async () => {
  const { store, api } = await visited()

  assert.deepEqual(
    store.groups.map(({ title, items }) => [title, items.length]),
    [["uses", 1]],
  )
  assert.deepEqual(
    store.further.map(({ source, target }) => [source.name, target.name]),
    [["Valkey", "Redis"]],
  )
  const asked = api.asked.find(({ path }) => path === "/graph")
  assert.deepEqual(asked.body, { center: 1, depth: 1, limit: 150 })
})

test("two steps can be requested, and the previous entity stays visible until the next one loads", async () => {
  const { store, api } = await visited()

  await store.reach(2)
  assert.equal(api.asked.at(-1).body.depth, 2)
  const moving = store.visit(new URLSearchParams(), 3)
  assert.equal(store.chosen.name, "Ada")
  assert.equal(store.reading, true)
  await moving
  assert.equal(store.chosen.name, "Valkey")
  assert.equal(store.reading, false)
})

test("a relationship in the graph shows its evidence", async () => {
  const { store } = await visited()

  const showing = store.showEdge(11)
  assert.equal(store.edge.evidence, null)
  await showing
  assert.deepEqual(store.edge.evidence, [PROOF])
  assert.equal(store.edge.source.name, "Valkey")
  store.hideEdge()
  assert.equal(store.edge, null)
  await store.showEdge(99)
  assert.equal(store.edge, null)
})

test("a failed request for evidence shows an error", async () => {
  const { store, said } = await visited({ "/entities/3": new Error("No answer.") })

  await store.showEdge(11)

  assert.equal(store.edge, null)
  assert.equal(said.items[0].text, "The memories could not be loaded. No answer.")
})

test("dropping an entity on another one merges them after confirmation, with an undo", async () => {
  const { store, api, asker, said, acts } = await visited()

  const dropped = store.drop(3, 2)
  await new Promise((done) => setTimeout(done))
  assert.equal(asker.title, "Merge Valkey into Redis?")
  assert.match(asker.text, /Redis fork/)
  asker.answer(true)

  assert.equal(await dropped, true)
  const sent = api.asked.find(({ method }) => method === "POST")
  assert.deepEqual([sent.path, sent.body, sent.version], ["/entities/3/merge", { into: 2 }, "3-1"])
  await said.undo(said.items[0])
  assert.deepEqual(acts.undone, ["last"])
})

test("a canceled merge changes nothing, and entities of different kinds cannot be merged", async () => {
  const { store, api, asker, said } = await visited()

  const dropped = store.drop(3, 2)
  await new Promise((done) => setTimeout(done))
  asker.answer(false)
  assert.equal(await dropped, false)
  assert.equal(await store.drop(1, 2), false)
  assert.equal(said.items[0].text, "Ada and Redis are not of the same kind and project. They cannot be merged.")
  assert.equal(await store.drop(1, 99), false)
  assert.equal(
    api.asked.some(({ method }) => method === "POST"),
    false,
  )
  assert.equal(store.busy, false)
})

test("a missing entity and a failed list each show an error", async () => {
  const { store } = await visited({ "/entities/3": new Error("Entity 3 not found.") })
  await store.visit(new URLSearchParams(), 3)
  assert.equal(store.chosenProblem, "Entity 3 not found.")
  assert.equal(store.chosen, null)

  const failing = setUp({ "/entities": new Error("No answer.") })
  await failing.store.load()
  assert.deepEqual([failing.store.phase, failing.store.problem], ["failed", "No answer."])
})

test("the lists remain if the graph cannot be drawn", async () => {
  const { store, said } = await visited()

  store.notDrawn()

  assert.equal(store.drawn, false)
  assert.match(said.items[0].text, /lists have the same content/)
})

test("the same neighborhood always has the same layout, without two entities in one place", () => {
  const nodes = [
    ADA,
    ...Array.from({ length: 40 }, (_, at) => entity(at + 2, `T${at}`, "tool", { depth: 1 + (at % 2) })),
  ]
  const edges = nodes.slice(1).map(({ id }) => edge(100 + id, 1, id))
  const around = { center: 1, nodes, edges }

  const found = places(around)

  assert.deepEqual(found, places({ ...around, nodes: [...nodes].reverse() }))
  assert.deepEqual(found.get(1), { x: 0, y: 0 })
  assert.equal(new Set([...found.values()].map(({ x, y }) => `${x} ${y}`)).size, nodes.length)
})
