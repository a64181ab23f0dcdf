import assert from "node:assert/strict"
import { test } from "node:test"
import { late } from "../src/stores/late.js"

const ROUTER = { page: "health" }

test("a page comes when it is opened first, once for all of them", async () => {
  let times = 0
  const store = late({ router: ROUTER, reload() {}, fetch: async () => ({ health: { n: ++times } }) })
  assert.deepEqual([store.comes, store.title], [true, "Health"])

  const [one, other] = await Promise.all([store.open(), store.open()])

  assert.deepEqual([one.health.n, other.health.n, times, store.comes], [1, 1, 1, false])
})

test("a page that cannot be loaded says so and may be asked for again", async () => {
  const answers = [() => Promise.reject(new Error("404")), async () => ({ health: {} })]
  const store = late({ router: ROUTER, reload() {}, fetch: () => answers.shift()() })

  assert.equal(await store.open(), null)
  assert.match(store.problem, /could not be loaded/)
  assert.equal(store.comes, true)

  assert.ok(await store.open())
  assert.deepEqual([store.problem, store.ready], ["", true])
})
