import assert from "node:assert/strict"
import test from "node:test"
import "../late-texts.js"
import { heights } from "../../src/log/heights.js"
import { chains, summed } from "../../src/pages/sessions/chains.js"
import { addLines, lineKey, linesOf } from "../../src/log/lines.js"
import { outcomeWords, railOf, tallyOf } from "../../src/log/rail.js"
import { log } from "../../src/log/store.js"
import { session } from "../../src/pages/session/store.js"
import { eventFilters, eventMatches } from "../../src/pages/events/store.js"
import { runningFirst, sessionFilters, sessionMatches } from "../../src/pages/sessions/store.js"
import { requests } from "../../src/shared/stores/requests.js"
import { change, fakeApi, fakeFeed, fakeTimers } from "../fakes.js"

const RUN = { id: 42, version: 1, status: "running", tier: 1, trigger: "manual" }
const MARK = { id: 3, version: 1, session_id: 42, state: "ignored", reason: "in code", outcome: "" }
const items = (from, n) =>
  Array.from({ length: n }, (_, at) => ({ offset: from + at, index: 0, kind: "text", text: `line ${from + at}` }))

const page = (items, more) => ({
  items,
  start: items[0]?.offset ?? 0,
  next: 90_000,
  more: false,
  complete: true,
  ...more,
})
const texts = (store) => Array.from({ length: store.count }, (_, row) => store.line(row).text)

test("a multi-line text becomes several lines, each with its own address", () => {
  const lines = linesOf({ offset: 900, index: 1, kind: "text", text: "first\nsecond" })

  assert.deepEqual(
    lines.map(({ key, text, first }) => [key, text, first]),
    [
      ["900:1:0", "first", true],
      [lineKey(900, 1, 1), "second", false],
    ],
  )
})

async function logOf(...pages) {
  const asked = []
  const api = { get: async (_path, { before, after }) => (asked.push(before ?? -after), pages.shift()) }
  const store = log({ api })
  await store.open(42)
  return { store, asked }
}

test("a turn shows its duration, tokens and cost, and a finished tool call its duration", async () => {
  const at = (second) => `2026-11-26T10:00:${second}.000000Z`
  const used = (turns, input_tokens, output_tokens, cost_usd) => ({ turns, input_tokens, output_tokens, cost_usd })
  const { store } = await logOf(
    page([
      { offset: 0, index: 0, kind: "started", text: "started", at: at("00") },
      { offset: 1, index: 0, kind: "tool", text: "check: web", at: at("12") },
      { offset: 2, index: 0, kind: "turn", text: "turn 1", at: at("12"), usage: used(1, 8_000, 400, 0.02) },
      { offset: 3, index: 0, kind: "result", text: "ok", at: at("14") },
      { offset: 4, index: 0, kind: "turn", text: "turn 2", at: at("17"), usage: used(2, 20_000, 460, 0.05) },
    ]),
  )

  assert.deepEqual(texts(store), [
    "started",
    "turn 1 · 12 s · 8K tokens in, 400 out · $0.02",
    "check: web",
    "turn 2 · 5.0 s · 12K tokens in, 60 out · $0.03",
  ])
  assert.deepEqual([store.line(2).took, store.line(2).at], [2_000, at("12")])
})

test("blocks of one turn are merged, and the final total corrects the estimates", async () => {
  const at = (second) => `2026-11-26T10:00:${second}.000000Z`
  const block = (offset, turn, input_tokens, output_tokens, cost_usd, input_usd) => ({
    ...{ offset, index: 1, kind: "turn", text: "turn", at: at(offset) },
    usage: { turns: 0, turn, input_tokens, output_tokens, cost_usd, input_usd },
  })
  const line = (offset, kind) => ({ offset, index: 0, kind, text: kind, at: at(offset) })
  const blocks = [
    ...[line(10, "started"), line(12, "text"), block(12, "a", 8_000, 100, 0.02, 0.01)],
    ...[line(14, "tool"), block(14, "a", 8_000, 300, 0.04, 0.01), line(20, "result")],
    ...[line(24, "text"), block(24, "b", 9_000, 100, 0.02, 0.01)],
  ]
  const total = { turns: 2, turn: null, input_tokens: 17_000, output_tokens: 1_000, cost_usd: 0.12, input_usd: null }
  const { store } = await logOf(page(blocks, { complete: false, next: 25 }), page([]))

  const turns = () => texts(store).filter((text) => text.startsWith("turn"))
  assert.deepEqual(turns(), [
    "turn 1 · 4.0 s · 8K tokens in, about 400 out · $0.05",
    "turn 2 · 10 s · 9K tokens in, about 100 out · $0.02",
  ])
  assert.deepEqual(texts(store)[1], turns()[0])
  store.append([{ ...line(25, "finished"), usage: total }])
  assert.deepEqual(turns(), [
    "turn 1 · 4.0 s · 8K tokens in, about 800 out · $0.09",
    "turn 2 · 10 s · 9K tokens in, about 200 out · $0.03",
  ])
})

test("the turns of a long log are counted in one pass", () => {
  const at = "2026-11-26T10:00:12.000000Z"
  const usage = { turns: 0, input_tokens: 8_000, output_tokens: 100, cost_usd: 0.02, input_usd: 0.01 }
  const text = "line\n".repeat(40)
  const long = Array.from({ length: 4_000 }, (_, n) => [
    { offset: 3 * n, index: 0, kind: "tool", text: "Bash: ls", at },
    { offset: 3 * n, index: 1, kind: "turn", text: "turn", at, usage: { ...usage, turn: `a${n}` } },
    { offset: 3 * n + 2, index: 0, kind: "result", text, at },
  ]).flat()
  const end = { offset: 12_000, index: 0, kind: "finished", text: "done", at, usage: { ...usage, turn: null } }

  const began = process.cpuUsage()
  const lines = addLines([], [...long, end])
  assert.ok(process.cpuUsage(began).user < 3_000_000)
  assert.equal(lines.filter(({ kind }) => kind === "turn").at(-1)?.usage?.turns, 4_000)
})

test("a running tool call of several lines has no duration", async () => {
  const at = "2026-11-26T10:00:12.000000Z"
  const { store } = await logOf(page([{ offset: 0, index: 0, kind: "tool", text: "Bash: ls\ndf\nfree", at }]))

  assert.deepEqual(texts(store), ["Bash: ls"])
  assert.deepEqual([store.line(0).behind, store.line(0).took], [2, null])
})

test("the first turn of a partial log shows only its number", async () => {
  const at = (second) => `2026-11-26T10:00:${second}.000000Z`
  const turn = (offset, turns) => ({
    offset,
    index: 0,
    kind: "turn",
    text: `turn ${turns}`,
    at: at(10 * turns),
    usage: { turns, input_tokens: 9_000 * turns, output_tokens: 100 * turns, cost_usd: 0.02 * turns },
  })
  const { store } = await logOf(page([turn(40, 4), { offset: 50, index: 0, kind: "result", text: "ok" }, turn(60, 5)]))

  const shown = texts(store).filter((text) => text.startsWith("turn"))
  assert.deepEqual(shown, ["turn 4", "turn 5 · 10 s · 9K tokens in, 100 out · $0.02"])
})

test("the log loads its end first, then the lines before it, then new lines", async () => {
  const { store, asked } = await logOf(
    page(items(2, 2), { more: true, next: 20, complete: false }),
    page(items(0, 2), { next: 2 }),
    page(items(4, 1), { next: 31, complete: true }),
  )

  assert.deepEqual(asked, [Number.MAX_SAFE_INTEGER, 2, -20])
  assert.deepEqual(texts(store), ["line 0", "line 1", "line 2", "line 3", "line 4"])
  assert.deepEqual([store.size, store.whole, store.complete, store.above], [5, true, true, 4])
})

test("a complete answer replaces its partial texts", async () => {
  const [before, one, two, answer] = items(0, 4)
  const parts = [one, two].map((each) => ({ ...each, kind: "partial" }))
  const { store } = await logOf(
    page([before, parts[0]], { next: 10, complete: false }),
    page([parts[1]], { next: 20, complete: false }),
    page([{ ...answer, text: "line 1\nline 2" }], { next: 30 }),
  )
  assert.deepEqual(texts(store), ["line 0", "line 1", "line 2"])

  await store.read(42)

  assert.deepEqual(texts(store), ["line 0", "line 1", "line 2"])
  assert.equal(store.line(1).kind, "text")
  assert.equal(store.size, 3)
})

test("new lines are counted while following is paused", async () => {
  const { store } = await logOf(
    page(items(0, 30), { next: 10, complete: false }),
    page([], { next: 10, complete: false }),
    page(items(30, 12), { next: 20 }),
  )
  store.pause()

  await store.read(42)

  assert.equal(store.unread, 12)
  store.follow()
  assert.deepEqual([store.unread, store.following], [0, true])
})

const ASKED = [
  { offset: 0, index: 0, kind: "tool", text: "Bash: docker ps" },
  { offset: 10, index: 0, kind: "result", text: "one\ntwo\nthree" },
  { offset: 20, index: 0, kind: "error", text: "nothing\nat all" },
  { offset: 30, index: 0, kind: "text", text: "Done." },
]

test("a tool result is folded under its call", async () => {
  const { store } = await logOf(page(ASKED))
  const [tool, odd] = [store.line(0), store.line(1)]

  assert.deepEqual(texts(store), ["Bash: docker ps", "nothing", "Done."])
  assert.deepEqual([tool.behind, tool.failed, odd.behind], [3, false, 1])
  store.toggle(tool.fold)
  assert.deepEqual(texts(store).slice(0, 4), ["Bash: docker ps", "one", "two", "three"])
})

test("a result is folded even if its call is on another page", async () => {
  const { store } = await logOf(page(ASKED.slice(1), { more: true, start: 10 }), page(ASKED.slice(0, 1)))

  assert.deepEqual(texts(store), ["Bash: docker ps", "nothing", "Done."])
})

test("a search finds folded lines and unfolds them", async () => {
  const { store } = await logOf(page(ASKED))

  store.search("T")
  const first = [store.matches, store.place, store.goal.row]
  store.step(1)
  const second = texts(store)[store.goal.row]
  store.step(-1)
  store.step(-1)

  assert.deepEqual(first, [4, 1, 2])
  assert.equal(second, "three")
  assert.deepEqual([store.place, texts(store)[store.goal.row]], [4, "at all"])
  store.search("nowhere")
  assert.deepEqual([store.matches, store.place], [0, 0])
})

test("choosing a line address selects the line and stops following", async () => {
  const { store } = await logOf(page(items(0, 9_000)))

  store.choose("100:0:0")

  assert.deepEqual([store.chosen, store.goal.row, store.following], ["100:0:0", 100, false])
  assert.equal(store.aim("nowhere"), false)
})

test("row positions stay correct after a height changes", () => {
  const places = heights()
  places.fill(1_000, () => 20)

  places.set(10, 60)

  assert.deepEqual([places.total, places.top(10), places.top(11)], [20_040, 200, 260])
  assert.deepEqual([0, 199, 200, 259, 260, 1e9].map(places.at), [0, 9, 10, 10, 11, 999])
})

test("each session of an escalation chain finds the whole chain", () => {
  const linked = chains()
  const rows = [
    { id: 1, version: 1, parent_id: null, status: "escalated", services: null, learned: 1, cost_usd: null },
    { id: 2, version: 1, parent_id: 1, status: "escalated", services: ["web"], learned: 2, cost_usd: 0.5 },
    { id: 4, version: 1, parent_id: 2, status: "failed", services: ["db"], learned: 0, cost_usd: 0.25 },
  ]
  rows.forEach(linked.keep)

  assert.deepEqual(
    rows.map((row) => linked.of(row).map(({ id }) => id)),
    [
      [1, 2, 4],
      [1, 2, 4],
      [1, 2, 4],
    ],
  )
  const { id, status, services, learned, cost_usd } = summed(rows)
  assert.deepEqual([id, status, services, learned, cost_usd], [1, "failed", ["db"], 3, 0.75])
})

test("the rail lists included and reported memories with their log lines", () => {
  const learned = { ...MARK, id: 1, state: "taken", outcome: "learned", memory_id: 9, offset: 5, index: 0, line: 2 }
  const again = { ...MARK, id: 2, state: "taken", outcome: "reinforced", memory_id: 7, offset: 6, index: 0, line: 0 }
  const included = [
    { memory_id: 7, included: true, why: "within the budget", line: "- 60s" },
    { memory_id: 8, included: false, why: "no room", line: "- 30s" },
  ]
  const review = { id: 3, kind: "conflict", reason: "says 10s", old: { id: 4 }, new: { id: 9 }, category: "timing" }

  const entries = railOf({ markers: [learned, again], included, contradicted: [review] })

  assert.deepEqual(
    entries.map(({ sort, memory, line }) => [sort, memory, line]),
    [
      ["reinforced", 7, "6:0:0"],
      ["learned", 9, "5:0:2"],
      ["contradicted", 4, "5:0:2"],
      ["included", 7, "6:0:0"],
    ],
  )
  assert.equal(entries[3].outcome, "reinforced")
  assert.deepEqual(
    tallyOf(entries).map(({ sort, n }) => [sort, n]),
    [
      ["learned", 1],
      ["reinforced", 1],
      ["contradicted", 1],
      ["included", 1],
    ],
  )
})

async function opened(answers = {}, hash = "") {
  const api = fakeApi({
    "/sessions/42": RUN,
    "/sessions/42/markers": { items: [MARK], seq: 1 },
    "/events": { items: [], seq: 1 },
    "/reviews": { items: [], seq: 1 },
    "/sessions/42/prompt": { system: "Look.", injected: "", prompt: "", memories: [] },
    ...answers,
  })
  const reads = []
  const chosen = []
  const log = { open: () => {}, read: (id) => reads.push(id), choose: (key) => chosen.push(key), complete: false }
  const engines = { load: () => {} }
  const chain = { open: async () => {}, exit: () => {} }
  const store = session({ api, feed: fakeFeed(), log, chain, engines, timers: fakeTimers() })
  store.visit(42, "", hash)
  await new Promise(setImmediate)
  return { store, api, reads, chosen }
}

test("a missing session requests nothing else", async () => {
  const { store, api } = await opened({ "/sessions/42": Object.assign(new Error("There is none."), { status: 404 }) })

  assert.equal(store.phase, "missing")
  assert.deepEqual(
    api.asked.map(({ path }) => path),
    ["/sessions/42"],
  )
})

test("a change of the session reads new output at once", async () => {
  const { store, reads } = await opened()
  const before = reads.length

  store.follow(change("updated", { ...RUN, version: 2, log_offset: 9 }, 1, "session"))

  assert.equal(reads.length, before + 1)
  assert.equal(store.row.version, 2)
})

test("an address can select a log line directly, by marker or by memory", async () => {
  const mark = { ...MARK, memory_id: 7, offset: 5, index: 1, line: 2 }
  const answers = { "/sessions/42/markers": { items: [mark], seq: 1 } }

  const [line, memory, other] = [
    await opened(answers, "#900:1:0"),
    await opened(answers, "#memory-7"),
    await opened(answers, "#marker-9"),
  ]

  assert.deepEqual([line.chosen, memory.chosen, other.chosen], [["900:1:0"], ["5:1:2"], []])
})

test("a marker of another session is ignored", async () => {
  const { store } = await opened()

  store.followMarker(change("created", { ...MARK, id: 4, session_id: 41 }, 1, "marker"))

  assert.deepEqual(store.markers, [MARK])
})

test("an ignored marker can be accepted", async () => {
  const { store } = await opened({
    "PUT /markers/3/accepted": { ...MARK, version: 2, state: "taken", outcome: "learned" },
  })

  await store.takeMarker(MARK)

  assert.equal(outcomeWords(store.markers[0]), "learned")
})

test("an outcome includes its reason", () => {
  assert.equal(outcomeWords(MARK), "ignored: in code")
  assert.equal(
    outcomeWords({ ...MARK, state: "refused", reason: "unknown category misc" }),
    "refused: unknown category misc",
  )
})

test("running sessions come first, then the latest", () => {
  const rows = [
    { id: 1, status: "running" },
    { id: 3, status: "failed" },
    { id: 2, status: "completed" },
  ]

  assert.deepEqual(
    rows.toSorted(runningFirst).map(({ id }) => id),
    [1, 3, 2],
  )
})

test("sessions and events are filtered by the address", () => {
  const running = sessionFilters(new URLSearchParams("status=running&tier=9"))
  const loud = eventFilters(new URLSearchParams("level=critical&level=odd&service=general"))

  assert.deepEqual(running, { status: "running", tier: "", trigger: "", service: "", from: "" })
  assert.equal(sessionMatches(RUN, running), true)
  const late = sessionFilters(new URLSearchParams("from=2026-01-14T11:00Z"))
  const began = (started_at) => sessionMatches({ ...RUN, started_at }, late)
  assert.deepEqual([began("2026-01-14T10:59:59Z"), began("2026-01-14T11:00:00Z")], [false, true])
  assert.deepEqual(loud.level, ["critical"])
  assert.equal(eventMatches({ text: "", level: "critical", service: null }, loud), true)
  assert.equal(eventMatches({ text: "", level: "info", service: null }, loud), false)
})

test("a queued request leaves the queue when it starts", () => {
  const store = requests({ api: fakeApi(), feed: fakeFeed() })
  const row = { id: 5, version: 1, state: "queued" }

  store.follow(change("created", row, 1, "request"))
  const waiting = store.words
  store.follow(change("updated", { ...row, version: 2, state: "running" }, 2, "request"))

  assert.deepEqual([waiting, store.queued], ["1 waiting", []])
})

test("a blank prompt and an empty service list are omitted from the request", async () => {
  const api = fakeApi({ "POST /sessions": { id: 5, version: 1, state: "queued" } })
  const store = requests({ api, feed: fakeFeed() })

  await store.ask({ tier: "2", services: [], prompt: "  ", dry_run: false })

  assert.deepEqual(api.asked[0].body, { tier: 2, dry_run: false })
})
