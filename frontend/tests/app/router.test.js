import assert from "node:assert/strict"
import test from "node:test"
import { createRouter, place } from "../../src/shared/browser/router.js"

/** A browser's location and history, as far as the router looks at them. */
function browser(address) {
  const location = { pathname: "", search: "" }
  const steps = []
  const left = []
  const move = (how) => (state, _title, to) => {
    if (to === undefined) return left.push(state)
    const url = new URL(to, "http://here")
    Object.assign(location, { pathname: url.pathname, search: url.search })
    steps.push(`${how} ${to}`)
  }
  move("start")(null, "", address)
  return { location, steps, left, history: { pushState: move("push"), replaceState: move("replace") } }
}

const ADDRESSES = [
  ["/overview", { page: "overview", id: null }],
  ["/cooldowns", { page: "cooldowns", id: null }],
  ["/sessions", { page: "sessions", id: null }],
  ["/sessions/42", { page: "session", id: 42 }],
  ["/events", { page: "events", id: null }],
  ["/memories", { page: "memories", id: null }],
  ["/memories/7", { page: "memories", id: 7 }],
  ["/memories/7/", { page: "memories", id: 7 }],
  ["/memories/seven", { page: "elsewhere", id: null }],
  ["/sessions/42/log", { page: "elsewhere", id: null }],
  ["/Memories", { page: "elsewhere", id: null }],
]

for (const [address, expected] of ADDRESSES) {
  test(`${address} is ${expected.page}`, () => {
    const { page, id } = place(address)

    assert.deepEqual({ page, id }, expected)
  })
}

test("the root is the overview, and the address says so", () => {
  const here = browser("/")

  const router = createRouter(here)

  assert.equal(router.page, "overview")
  assert.deepEqual(here.steps, ["start /", "replace /overview"])
})

test("services are on the overview, and the address says where", () => {
  const here = browser("/services")

  const router = createRouter(here)
  router.go("/events")
  router.go("/services/")

  assert.equal(router.page, "overview")
  assert.deepEqual(here.steps, [
    ...["start /services", "replace /overview#services-title", "push /events", "push /overview#services-title"],
  ])
})

test("going somewhere is a step back can undo, typing is not", () => {
  const here = browser("/memories")
  const router = createRouter(here)

  router.go("/memories?service=caddy")
  router.go("/memories?q=dns", { replace: true })

  assert.deepEqual(here.steps.slice(1), ["push /memories?service=caddy", "replace /memories?q=dns"])
  assert.equal(router.params.get("q"), "dns")
})

test("going where one is leaves no step behind", () => {
  const here = browser("/events")

  createRouter(here).go("/events")

  assert.equal(here.steps.length, 1)
})

test("a change of filters keeps the others and drops what is empty", () => {
  const router = createRouter(browser("/events?q=dns&level=info"))

  assert.equal(router.with({ level: ["warning", "critical"] }), "/events?q=dns&level=warning&level=critical")
  assert.equal(router.with({ q: "" }), "/events?level=info")
})

test("opening a row keeps the filters of its list", () => {
  const router = createRouter(browser("/memories?state=active"))

  assert.equal(router.keeping("/memories/7"), "/memories/7?state=active")
})

test("who follows hears where one came from", () => {
  const router = createRouter(browser("/memories"))
  const moves = []
  router.onMove((now, before) => moves.push(`${before.page} ${now.page} ${now.id}`))

  router.go("/sessions/42")

  assert.deepEqual(moves, ["memories session 42"])
})

test("what is left is marked, and found again on the way back", () => {
  const here = browser("/events")
  const router = createRouter({ ...here, mark: () => ({ y: 900, link: "/sessions/42" }) })

  router.go("/events?q=dns", { replace: true })
  router.go("/sessions/42")
  const there = router.left
  router.arrive(here.left[0])

  assert.deepEqual([here.left, there, router.left], [[{ y: 900, link: "/sessions/42" }], null, here.left[0]])
})
