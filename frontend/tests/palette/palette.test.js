import assert from "node:assert/strict"
import { test } from "node:test"
import { best, fits } from "../../src/palette/fuzzy.js"
import { palette } from "../../src/palette/store.js"
import { fakeApi, fakeStorage, fakeTimers, memory } from "../fakes.js"

const COMMANDS = [
  { id: "go: Go to health", group: "go", title: "Go to", keys: "g h", label: "Go to health" },
  { id: "anywhere: Log out", group: "anywhere", title: "Anywhere", label: "Log out" },
  { id: "reviews: Merge", group: "reviews", title: "Reviews", keys: "m", label: "Merge", when: () => false },
  { id: "list: Open", group: "list", title: "List", keys: "Enter", label: "Open row", native: true },
]

function open({ answers = { "/search": { items: [] } }, storage = fakeStorage(), names = ["jellyfin"] } = {}) {
  const done = []
  const timers = fakeTimers()
  const api = fakeApi(answers)
  const store = palette({
    api,
    commands: () => COMMANDS.map((each) => ({ ...each, run: () => done.push(each.label) })),
    router: { go: (address) => done.push(address) },
    services: { names },
    runNow: { show: (draft) => done.push(draft) },
    storage,
    later: timers.setTimeout,
  })
  store.show()
  return { store, done, timers, api, labels: () => named(store) }
}

/** The labels, without the link to the search page at the end. */
function named({ entries }) {
  return entries.map(({ label }) => label).filter((label) => !label.startsWith("Search everything"))
}

test("matches at word starts come first, matches elsewhere are a fallback", () => {
  const texts = ["Go to health", "Show keyboard shortcuts", "Go to events"]
  const found = (typed) => best(texts, (text) => fits(typed, text))

  assert.deepEqual(found("he"), ["Go to health"])
  assert.deepEqual(found("gte"), ["Go to events"])
  assert.deepEqual(found("evnts"), ["Go to events"])
  assert.deepEqual(found("HEÁLTH"), ["Go to health"])
  assert.deepEqual(found("xyz"), [])
})

test("an empty input lists the commands that apply", () => {
  const { labels } = open()

  assert.ok(labels().includes("Go to health") && labels().includes("Log out"))
  assert.ok(!labels().includes("Merge") && !labels().includes("Open row"))
})

test("the last chosen command is listed first the next time", async () => {
  const storage = fakeStorage()
  const first = open({ storage })
  first.store.type("log")
  first.store.choose()
  await first.timers.ring()

  assert.deepEqual(first.done, ["Log out"])
  assert.equal(first.store.open, false)
  assert.equal(open({ storage }).labels()[0], "Log out")
})

test("a number opens the session, memory or review with that ID", async () => {
  const { store, done, timers, labels } = open()

  store.type("memory 45")
  assert.deepEqual(labels(), ["Memory 45"])
  store.type("#123")
  assert.deepEqual(labels(), ["Session 123", "Memory 123", "Review 123"])
  store.choose()
  await timers.ring()

  assert.deepEqual(done, ["/sessions/123"])
})

test("a service name finds its pages and a session for it", async () => {
  const { store, done, timers, labels } = open({ names: ["jelly & co"] })

  store.type("jelly")
  assert.equal(labels().length, 5)
  store.type("run jelly")
  store.type("memories of jelly")
  store.choose()
  await timers.ring()

  assert.deepEqual(done, ["/memories?service=jelly%20%26%20co"])
})

test("memories and pages are found by their text, and the latest response wins", async () => {
  const pending = []
  const wait = () => new Promise((resolve) => pending.push(resolve))
  const { store, timers, labels, api } = open({ answers: { "/search": wait } })

  store.type("60")
  const first = timers.ring()
  store.type("60s")
  const second = timers.ring()
  const page = { id: 1, path: "services/plug", title: "plug", text: "60 W" }
  pending[1]({
    items: [
      { layer: "memory", memory: memory({ id: 7 }) },
      { layer: "page", page },
    ],
  })
  await second
  pending[0]({ items: [{ layer: "memory", memory: memory({ id: 8, observation: "an older answer" }) }] })
  await first

  assert.deepEqual(
    api.asked.map(({ body }) => body.q),
    ["60", "60s"],
  )
  assert.deepEqual(labels(), ["Takes 60s to start after restart", "services/plug"])
  assert.equal(store.words, "2 results")
})

test("the input can be passed to the full search", async () => {
  const { store, done, timers } = open()

  store.type("no such & thing")
  const words = store.words
  await timers.ring()
  store.choose(store.entries.at(-1))
  await timers.ring()

  assert.match(words, /Searching/)
  assert.equal(store.words, "No results")
  assert.deepEqual(done, ["/search?q=no+such+%26+thing"])
})

test("a single letter sends no request", async () => {
  const { store, timers, api } = open()

  store.type("l")
  await timers.ring()

  assert.deepEqual(api.asked, [])
})

test("the arrow keys wrap around", () => {
  const { store } = open()
  const last = store.entries.length - 1

  store.move(-1)
  assert.equal(store.at, last)
  store.move(1)
  assert.equal(store.active, "palette-0")
})

for (const held of [
  "no json",
  '{"a":1}',
  '["/memories/__proto__", 7, "javascript:alert(1)", "//evil.example/memories/1"]',
]) {
  test(`invalid stored data is ignored: ${held}`, () => {
    assert.ok(open({ storage: fakeStorage({ "lamplighter.recent": held }) }).labels().length > 0)
  })
}

test("settings, row actions and approvals are found by name", async () => {
  const done = []
  const settings = [{ name: "notify", variable: "LAMPLIGHTER_NOTIFY", about: "The notification targets" }]
  const store = palette({
    api: fakeApi({ "/search": { items: [] } }),
    catalog: async () => settings,
    commands: () => [],
    router: { go: (address) => done.push(address) },
    services: { names: [] },
    runNow: {},
    approvals: { open: [{ id: 7 }], requestedAction: () => "restart of media" },
    decide: ({ id }, decision) => done.push(`${decision} ${id}`),
    row: () => [{ label: "Pause disk", run: () => done.push("paused") }],
    storage: fakeStorage(),
    later: fakeTimers().setTimeout,
  })
  store.show()
  await new Promise(setImmediate)

  for (const typed of ["pause", "deny", "notification"]) {
    store.show()
    store.type(typed)
    store.choose()
  }
  await new Promise(setImmediate)

  assert.deepEqual(done, ["paused", "deny 7", "/settings?change=notify"])
  store.show()
  store.type("tito")
  assert.ok(!store.entries.some(({ id }) => id.startsWith("setting")), "letters in their order are no name")
})
