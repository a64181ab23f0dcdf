import assert from "node:assert/strict"
import test from "node:test"
import { createRouter, place } from "../../src/shared/browser/router.js"

/** A fake of the parts of the browser's location and history that the router uses. */
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
  test(`${address} opens the ${expected.page} page`, () => {
    const { page, id } = place(address)

    assert.deepEqual({ page, id }, expected)
  })
}

test("the root redirects to /overview", () => {
  const here = browser("/")

  const router = createRouter(here)

  assert.equal(router.page, "overview")
  assert.deepEqual(here.steps, ["start /", "replace /overview"])
})

test("/services redirects to the services section of the overview", () => {
  const here = browser("/services")

  const router = createRouter(here)
  router.go("/events")
  router.go("/services/")

  assert.equal(router.page, "overview")
  assert.deepEqual(here.steps, [
    ...["start /services", "replace /overview#services-title", "push /events", "push /overview#services-title"],
  ])
})

test("navigation adds a history entry, typing replaces the current one", () => {
  const here = browser("/memories")
  const router = createRouter(here)

  router.go("/memories?service=caddy")
  router.go("/memories?q=dns", { replace: true })

  assert.deepEqual(here.steps.slice(1), ["push /memories?service=caddy", "replace /memories?q=dns"])
  assert.equal(router.params.get("q"), "dns")
})

test("navigating to the current address adds no history entry", () => {
  const here = browser("/events")

  createRouter(here).go("/events")

  assert.equal(here.steps.length, 1)
})

test("changing a filter keeps the other filters and drops empty values", () => {
  const router = createRouter(browser("/events?q=dns&level=info"))

  assert.equal(router.with({ level: ["warning", "critical"] }), "/events?q=dns&level=warning&level=critical")
  assert.equal(router.with({ q: "" }), "/events?level=info")
})

test("opening a row keeps the filters of its list", () => {
  const router = createRouter(browser("/memories?state=active"))

  assert.equal(router.keeping("/memories/7"), "/memories/7?state=active")
})

test("listeners receive the new and the previous location", () => {
  const router = createRouter(browser("/memories"))
  const moves = []
  router.onMove((now, before) => moves.push(`${before.page} ${now.page} ${now.id}`))

  router.go("/sessions/42")

  assert.deepEqual(moves, ["memories session 42"])
})

test("the scroll position is saved when a page is left and available after going back", () => {
  const here = browser("/events")
  const router = createRouter({ ...here, mark: () => ({ y: 900, link: "/sessions/42" }) })

  router.go("/events?q=dns", { replace: true })
  router.go("/sessions/42")
  const there = router.left
  router.arrive(here.left[0])

  assert.deepEqual([here.left, there, router.left], [[{ y: 900, link: "/sessions/42" }], null, here.left[0]])
})
