import assert from "node:assert/strict"
import { test } from "node:test"
import { Problem } from "../../src/shared/api.js"
import { late } from "../../src/pages/loading/store.js"
import { fakeApi } from "../fakes.js"

const ROUTER = { page: "health" }

test("late pages are fetched once, on the first open", async () => {
  let times = 0
  const store = late({ api: fakeApi(), router: ROUTER, reload() {}, fetch: async () => ({ health: { n: ++times } }) })
  assert.deepEqual([store.comes, store.title], [true, "Health"])

  const [one, other] = await Promise.all([store.open(), store.open()])

  assert.deepEqual([one.health.n, other.health.n, times, store.comes], [1, 1, 1, false])
})

test("a failed load shows an error and can be retried", async () => {
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

test("a retry does nothing while the server is unreachable; the next one opens the page", async () => {
  const { done, store } = failing(new Problem({ detail: "away" }))

  await store.again()
  const meanwhile = [...done]
  await store.again()

  assert.deepEqual([meanwhile, done, store.ready], [[], ["arrive"], true])
})

test("the app reloads if the server responds but the page cannot be loaded", async () => {
  const { done, store } = failing({ state: "leading" })

  await store.again()

  assert.deepEqual(done, ["reload"])
})
