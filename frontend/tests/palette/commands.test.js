import "../late-texts.js"
import assert from "node:assert/strict"
import { test } from "node:test"
import { commandFiles } from "../command-files.js"
import { anywhereCommands } from "../../src/palette/commands/anywhere.js"
import { goCommands } from "../../src/palette/commands/go.js"
import { applies, clashes, pressed, registry } from "../../src/palette/registry.js"
import * as list from "../../src/palette/commands/list.js"
import * as memories from "../../src/pages/memories/commands.js"
import * as reviews from "../../src/pages/reviews/commands.js"
import { keys } from "../../src/palette/keys.js"
import { fakeStorage } from "../fakes.js"

const ROW = {
  dataset: { id: "7" },
  querySelector: () => ROW,
  closest: () => ROW,
  offsetParent: true,
  matches: () => true,
}
globalThis.document = { querySelector: () => ROW, querySelectorAll: () => [ROW], activeElement: ROW }

const PAGES = ["overview", "sessions", "session", "events", "memories", "cooldowns", "reviews", "preview", "elsewhere"]

function stores({ page = "overview", id = null, review = {}, paused = false, on = true } = {}) {
  return {
    router: { page, id, keeping: (path) => path, go: () => {} },
    review: { open: page === "reviews" && id !== null, waits: false, settled: false, form: "", ...review },
    reviews: {},
    session: { phase: "ready" },
    memory: { open: page === "memories" && id !== null },
    memories: { historical: false, rows: [{ id: 7 }], chosen: {} },
    rowEdit: { id: null },
    live: { paused },
    keys: { on },
    halt: { on: false, ours: false },
    theme: { choice: "system" },
  }
}

const modules = {
  "./list.js": list,
  "./go.js": { goCommands },
  "./reviews.js": reviews,
  "./memories.js": memories,
  "./anywhere.js": { anywhereCommands },
  "./index.js": { registry },
}

const worlds = PAGES.flatMap((page) =>
  [null, 1].flatMap((id) =>
    [{ waits: true }, { settled: true }, { form: "both" }].map((review) => stores({ page, id, review })),
  ),
)

test("no key has two commands in any context", () => {
  for (const world of worlds) assert.deepEqual(clashes(registry(modules, world)), [], world.router.page)
})

test("two applicable commands with the same key are reported", () => {
  const here = { keys: "Shift+x", label: "a", run: () => {} }

  assert.deepEqual(clashes([here, { ...here, keys: "X" }]), ["X"])
  assert.deepEqual(clashes([here, { ...here, keys: "X", when: () => false }]), [])
})

test("every command has a label, a titled group and a unique ID", () => {
  for (const world of worlds) {
    const commands = registry(modules, world)
    assert.equal(new Set(commands.map(({ id }) => id)).size, commands.length)
    assert.ok(commands.every(({ label, title, group }) => label && title && title !== group))
  }
})

test("a command group is named after its file", () => {
  const [first] = registry({ "../x/own.js": { ownCommands: () => [{ label: "Do", run: () => {} }] } }, {})

  assert.deepEqual([first.id, first.group, first.title], ["own: Do", "own", "own"])
})

test("every command file exports commands", async () => {
  assert.equal(commandFiles().length, 13)
  for (const file of commandFiles()) {
    const exported = Object.keys(await import(file))
    assert.ok(
      exported.some((each) => each.endsWith("Commands")),
      file,
    )
  }
})

test("a key runs the command that applies in the current context", () => {
  const done = []
  let here = "a"
  const listed = ["a", "b"].map((name) => ({
    id: name,
    group: "x",
    title: "X",
    keys: "x",
    label: name,
    when: () => here === name,
    run: () => done.push(name),
  }))
  const board = keys({ commands: () => listed, storage: fakeStorage() })

  board.press("x")
  here = "b"
  board.press("x")
  here = "c"

  assert.equal(board.press("x"), false)
  assert.deepEqual(done, ["a", "b"])
})

test("holding a key runs a decision once and repeats a movement", () => {
  const done = []
  const commands = ["a", "j"].map((keys) => ({
    id: keys,
    keys,
    label: keys,
    repeats: keys === "j",
    run: () => done.push(keys),
  }))
  const board = keys({ commands: () => commands, storage: fakeStorage() })

  for (const key of ["a", "j"]) for (const held of [false, true, true]) assert.equal(board.press(key, held), true)

  assert.deepEqual(done, ["a", "j", "j", "j"])
})

test("a key sequence is one command only within its time limit", () => {
  let now = 0
  const done = []
  const commands = ["g m", "m"].map((each) => ({ id: each, keys: each, label: each, run: () => done.push(each) }))
  const board = keys({ commands: () => commands, storage: fakeStorage(), now: () => now })

  board.press("g")
  board.press("m")
  board.press("g")
  now = 1_500
  board.press("m")

  assert.deepEqual(done, ["g m", "m"])
})

test("disabled shortcuts stay disabled", () => {
  const storage = fakeStorage()
  keys({ commands: () => [], storage }).turn(false)

  assert.equal(keys({ commands: () => [], storage }).on, false)
})

test("the help lists applicable shortcuts before others", () => {
  const at = (page) => registry(modules, stores({ page, id: page === "reviews" ? 1 : null, review: { waits: true } }))
  const labels = (groups) => groups.flatMap(({ commands }) => commands.map(({ label }) => label))
  const board = (page) => {
    const store = keys({ commands: () => at(page), storage: fakeStorage() })
    store.show()
    return store
  }

  assert.ok(labels(board("reviews").here).includes("Keep both"))
  assert.ok(labels(board("events").elsewhere).includes("Keep both"))
  assert.equal(board("events").here[0].title, "Go to")
  assert.ok(at("events").filter(applies).length < at("events").length)
})

test("shortcuts use the browser's key names", () => {
  assert.equal(pressed("Space"), " ")
  assert.equal(pressed("Shift+x"), "X")
  assert.equal(pressed("g ,"), "g\0,")
})
