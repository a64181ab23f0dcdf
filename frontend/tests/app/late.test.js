import assert from "node:assert/strict"
import { test } from "node:test"
import { Problem } from "../../src/shared/api.js"
import { late } from "../../src/pages/loading/store.js"
import { fakeApi } from "../fakes.js"

const ROUTER = { page: "health" }

test("a page comes when it is opened first, once for all of them", async () => {
  let times = 0
  const store = late({ api: fakeApi(), router: ROUTER, reload() {}, fetch: async () => ({ health: { n: ++times } }) })
  assert.deepEqual([store.comes, store.title], [true, "Health"])

  const [one, other] = await Promise.all([store.open(), store.open()])

  assert.deepEqual([one.health.n, other.health.n, times, store.comes], [1, 1, 1, false])
})

test("a page that cannot be loaded says so and may be asked for again", async () => {
  const answers = [() => Promise.reject(new Error("404")), async () => ({ health: {} })]
  const store = late({ api: fakeApi(), router: ROUTER, reload() {}, fetch: () => answers.shift()() })

  assert.equal(await store.open(), null)
  assert.match(store.problem, /could not be loaded/)
  assert.equal(store.comes, true)

  assert.ok(await store.open())
  assert.deepEqual([store.problem, store.ready], ["", true])
})

function failing(answer) {
  const done = []
  const router = { ...ROUTER, arrive: () => done.push("arrive") }
  const api = fakeApi({ "/supervisor": answer })
  const fetches = [() => Promise.reject(new Error("gone"))]
  const fetch = () => (fetches.shift() ?? (async () => ({ health: {} })))()
  return { done, store: late({ api, router, reload: () => done.push("reload"), fetch }) }
}

test("asked for again while the server is away it stays, and comes once the server is back", async () => {
  const { done, store } = failing(new Problem({ detail: "away" }))

  await store.again()
  const meanwhile = [...done]
  await store.again()

  assert.deepEqual([meanwhile, done, store.ready], [[], ["arrive"], true])
})

test("where the server answers and the page does not come, the app is loaded anew", async () => {
  const { done, store } = failing({ state: "leading" })

  await store.again()

  assert.deepEqual(done, ["reload"])
})
