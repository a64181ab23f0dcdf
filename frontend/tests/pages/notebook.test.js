import "../late-texts.js"
import assert from "node:assert/strict"
import test from "node:test"
import { blocks } from "../../src/pages/notebook/markdown.js"
import { combined, joined, split } from "../../src/pages/notebook/lines.js"
import { notebook } from "../../src/pages/notebook/store.js"
import { confirm } from "../../src/shared/dialogs/confirm.js"
import { drafts } from "../../src/shared/memory-form/drafts.js"
import { toasts } from "../../src/shared/parts/toasts.js"
import { Problem } from "../../src/shared/api.js"
import { moved } from "../../src/pages/notebook/text-value.js"
import { fakeApi, fakeTimers } from "../fakes.js"

const TEXT = "# jellyfin\n\n- [timing] Takes 60s ^m1\n- [dependency] Needs redis ^m2\n"
const PAGE = { path: "services/jellyfin", text: TEXT, digest: "a", stored: TEXT, previous: "", written_at: null }
const LISTED = { pages: [{ path: PAGE.path, memories: 2, written_at: null, reasons: [] }], index_limit: 2000 }

function setUp(answers = {}) {
  const kept = new Map()
  const storage = {
    getItem: (key) => kept.get(key) ?? null,
    setItem: (key, value) => kept.set(key, value),
    removeItem: (key) => kept.delete(key),
    keys: () => [...kept.keys()],
  }
  const api = fakeApi({ "/notebook": LISTED, "/notebook/services/jellyfin": PAGE, ...answers })
  const said = toasts({ timers: fakeTimers() })
  const store = () => notebook({ api, confirm: confirm(), toasts: said, drafts: drafts({ storage }), later: () => {} })
  return { api, said, store }
}

async function editing(answers) {
  const all = setUp(answers)
  const store = all.store()
  await store.visit(new URLSearchParams("page=services/jellyfin"))
  store.show("edit")
  return { ...all, store, open: all.store }
}

test("Markdown becomes text and links, never raw HTML", () => {
  const found = blocks(
    "---\nid: x\n---\n# jellyfin\n\n- [timing] <img src=x onerror=alert(1)> `60s` ^m7\n  more\n\n[x](javascript:alert(1))",
  )
  const text = JSON.stringify(found)

  assert.deepEqual(
    found.map(({ tag }) => tag),
    ["h3", "ul", "p"],
  )
  assert.match(text, /"text":" <img src=x onerror=alert\(1\)> "/)
  assert.ok(!text.includes('"href":"javascript'))
  assert.ok(!text.includes("id: x"))
})

test("a page links to the pages and memories that it names", () => {
  const text = JSON.stringify(blocks("- See [[services/caddy|Caddy]] ^m12\n- [docs](https://example.org/a)\n  - below"))

  assert.match(text, /"href":"\/notebook\?page=services%2Fcaddy","text":"Caddy"/)
  assert.match(text, /"href":"\/memories\/12"/)
  assert.match(text, /"outside":true/)
})

test("both edits are merged, and in a conflict the line on disk keeps the memory ID", () => {
  const mine = TEXT.replace("60s", "90s").replace("redis", "valkey")
  const disk = TEXT.replace("60s", "75s") + "- [timing] New line\n"

  assert.equal(
    combined(TEXT, mine, disk),
    "# jellyfin\n\n- [timing] Takes 75s ^m1\n- [timing] Takes 90s\n- [dependency] Needs valkey ^m2\n- [timing] New line\n",
  )
})

test("merging loses nothing if the last line has no line break", () => {
  assert.equal(combined("a", "a\nb", "a\nc"), "a\nc\nb")
})

test("notes are separate from the index", () => {
  const text = "# Memory\n\n- x\n\n## Notes\n\nAsk Ada\n"

  assert.deepEqual(split(text), { head: "# Memory\n\n- x\n\n", notes: "Ask Ada" })
  assert.equal(joined(split(text).head, "Ask Bob"), text.replace("Ada", "Bob"))
  assert.equal(joined("# Memory\n", " "), "# Memory\n")
})

test("a page is saved with the version it is based on", async () => {
  const { store, api, said } = await editing({ "PUT /notebook/services/jellyfin": { edits: 1, for_review: {} } })

  store.type(TEXT.replace("60s", "90s"))
  await store.save()

  const asked = api.asked.find(({ method }) => method === "PUT")
  assert.equal(asked.version, "a")
  assert.match(asked.body.text, /90s/)
  assert.equal(said.items.at(-1).text, "Saved. 1 memory changed.")
  assert.equal(store.view, "read")
})

test("a page changed on disk is shown next to the edit, and both can be merged", async () => {
  const disk = `${TEXT}- [timing] From another editor\n`
  const answers = [
    () => Promise.reject(new Problem({ status: 412, current: { text: disk, digest: "b" } })),
    () => ({ edits: 2, for_review: {} }),
  ]
  const { store, api } = await editing({ "PUT /notebook/services/jellyfin": () => answers.shift()() })
  store.type(TEXT.replace("60s", "90s"))

  await store.save()
  assert.equal(store.conflict.digest, "b")
  assert.match(store.draft, /90s/)
  store.combine()
  await store.save()

  const asked = api.asked.filter(({ method }) => method === "PUT").at(-1)
  assert.equal(asked.version, "b")
  assert.match(asked.body.text, /90s[\s\S]*From another editor/)
})

const CHANGED = { ...PAGE, text: TEXT.replace("redis", "valkey"), digest: "b" }

async function changedElsewhere(typed, changed = CHANGED) {
  const pages = [PAGE, changed]
  const all = await editing({ "/notebook/services/jellyfin": () => pages.shift() ?? changed })
  if (typed) all.store.type(typed)
  await all.store.read()
  return all
}

test("an editor without unsaved text follows a change elsewhere", async () => {
  const { store } = await changedElsewhere("")

  assert.deepEqual([store.draft, store.base.digest, store.changedOnDisk], [CHANGED.text, "b", false])
})

test("unsaved text stays if the page changes elsewhere, and is compared on request", async () => {
  const typed = TEXT.replace("60s", "90s")
  const { store } = await changedElsewhere(typed)

  assert.deepEqual([store.draft, store.base.digest, store.changedOnDisk], [typed, "a", true])
  store.compare()
  assert.equal(store.conflict.digest, "b")
  store.combine()
  assert.match(store.draft, /90s[\s\S]*valkey/)
  assert.equal(store.changedOnDisk, false)
})

test("unsaved text that another tab saved is no change elsewhere", async () => {
  const { store } = await changedElsewhere(CHANGED.text)

  assert.deepEqual([store.base.digest, store.changedOnDisk, store.dirty], ["b", false, false])
})

test("a save in one tab keeps the unsaved draft of another", async () => {
  const { store, open } = await editing({ "PUT /notebook/services/jellyfin": { edits: 1, for_review: {} } })
  const other = open()
  await other.visit(new URLSearchParams("page=services/jellyfin"))
  other.show("edit")
  store.type("saved here")
  other.type("typed there")
  await store.save()

  const later = open()
  await later.visit(new URLSearchParams("page=services/jellyfin"))
  later.show("edit")

  assert.equal(later.draft, "typed there")
})

test("unsaved notes stay on an index that is written again", async () => {
  const index = (head, digest) => ({ ...PAGE, path: "MEMORY", text: `${head}\n\n## Notes\n\nAsk Ada\n`, digest })
  const versions = [index("# Old", "a"), index("# New", "b")]
  const { store: open } = setUp({ "/notebook/MEMORY": () => versions.shift() })
  const store = open()
  await store.visit(new URLSearchParams(""))
  store.show("edit")
  store.type("Ask Bob")
  await store.read()

  assert.deepEqual([store.draft, store.base.digest, store.changedOnDisk], ["Ask Bob", "b", false])
  assert.match(store.edited, /^# New[\s\S]*Ask Bob/)
})

test("the cursor stays at its text when another text is loaded", () => {
  assert.equal(moved(3, "one two", "one three"), 3)
  assert.equal(moved(4, "one two", "zero one two"), 9)
  assert.equal(moved(7, "one two", "other"), 5)
})

test("an unsaved draft survives leaving the page", async () => {
  const { store, open } = await editing()
  store.type("typed")

  const other = open()
  await other.visit(new URLSearchParams("page=services/jellyfin"))
  other.show("edit")

  assert.equal(other.draft, "typed")
  assert.equal(other.base.digest, "a")
})

test("a new page is created on save and never overwrites an existing one", async () => {
  const { api, store: open } = setUp({
    "/notebook/services/caddy": { ...PAGE, path: "services/caddy" },
    "PUT /notebook/services/caddy": { edits: 1, for_review: {} },
  })
  const store = open()
  await store.visit(new URLSearchParams(""))

  const path = store.create("services", " caddy.md ")
  await store.visit(new URLSearchParams(`page=${path}`))
  store.type("# caddy\n\n- [timing] Takes 5s\n")
  await store.save()

  assert.deepEqual([path, store.view, store.begun], ["services/caddy", "read", ""])
  assert.deepEqual(
    api.asked.filter(({ method }) => method === "PUT").map(({ version }) => version),
    [""],
  )
  assert.equal(store.create("services", "jellyfin"), "services/jellyfin")
  assert.equal(store.view, "read")
})
