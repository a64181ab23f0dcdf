import assert from "node:assert/strict"
import test from "node:test"
import "../late-texts.js"
import { changed, differences, draftOf, fieldsOf, merge } from "../../src/pages/editor/draft.js"
import { CHECKS, label } from "../../src/pages/editor/kinds.js"
import { diffParts } from "../../src/pages/editor/page.js"
import { editor } from "../../src/pages/editor/store.js"
import { fakeApi } from "../fakes.js"

const FIELDS = {
  description: "Films",
  checks: [
    { name: "web", http: "http://h/", status: [200, "300-302"], headers: { Accept: "a/b", "X-Y": "c: d" }, retries: 2 },
    { push: { every: "1d", grace: "1h" } },
    { process: "mpd", command: "--daemon" },
  ],
  maintenance: [{ cron: "0 3 * * sun", for: "2h" }],
  actions: [{ restart: ["docker", "restart", "jellyfin"], for: "no-answer" }],
  paused: false,
}

test("an untouched form returns the fields of the file in their order", () => {
  assert.equal(JSON.stringify(fieldsOf(draftOf("a", FIELDS))), JSON.stringify(FIELDS))
})

test("input is parsed by field type, and emptied fields are removed", () => {
  const draft = draftOf("a", FIELDS)
  draft.service.typed = { description: "", tags: "home, tv", paused: "true" }
  draft.checks[0].typed = { status: "200", headers: "Accept: x\nHost: a:1", retries: "", latency: "800ms" }
  draft.checks[1].typed = { "push.every": "2d", "push.zone": "Europe/Berlin" }
  draft.actions[0].typed = { restart: "reboot\n-h now" }

  assert.deepEqual(fieldsOf(draft), {
    checks: [
      { name: "web", http: "http://h/", status: 200, headers: { Accept: "x", Host: "a:1" }, latency: "800ms" },
      { push: { every: "2d", grace: "1h", zone: "Europe/Berlin" } },
      { process: "mpd", command: "--daemon" },
    ],
    maintenance: FIELDS.maintenance,
    paused: true,
    tags: ["home", "tv"],
    actions: [{ restart: ["reboot", "-h now"], for: "no-answer" }],
  })
})

test("each field of each kind of check has a label, and the first field names the kind", () => {
  for (const [kind, fields] of Object.entries(CHECKS)) {
    for (const field of fields) assert.match(label(field), /./, `${kind}: ${field.path}`)
    assert.deepEqual([fields[0].path[0], fields[0].main], [kind, true])
  }
})

test("changing the kind of a check keeps the shared fields", () => {
  const draft = draftOf("a", FIELDS)
  draft.checks[0].typed = { timeout: "1s", body: "x" }

  const tcp = changed(draft.checks[0], "tcp")
  tcp.typed.tcp = "h:1"

  assert.deepEqual(fieldsOf({ ...draft, checks: [tcp] }).checks, [
    { tcp: "h:1", name: "web", retries: 2, timeout: "1s" },
  ])
})

test("two edits of one service are merged, and mine wins in a conflict", () => {
  const base = { a: 1, b: 2, c: 3 }

  assert.deepEqual(merge(base, { a: 9, b: 2 }, { a: 8, b: 7, c: 3, d: 4 }), { a: 9, b: 7, d: 4 })
  assert.deepEqual(differences(base, { a: 1, b: [2], d: "x" }), [
    { key: "b", before: "2", after: "[2]" },
    { key: "c", before: "3", after: "" },
    { key: "d", before: "", after: "x" },
  ])
})

test("merging keeps the checks added on both sides and the change of one", () => {
  const web = { http: "a" }
  const theirs = { checks: [web, { tcp: "h:1" }] }

  assert.deepEqual(merge({ checks: [web] }, { checks: [{ http: "a", latency: "1s" }, { dns: "x" }] }, theirs).checks, [
    { http: "a", latency: "1s" },
    { tcp: "h:1" },
    { dns: "x" },
  ])
  assert.deepEqual(merge({ checks: [web] }, { checks: [] }, theirs).checks, [{ tcp: "h:1" }])
})

test("a diff is split by lines", () => {
  assert.deepEqual(diffParts("@@ -1 +1 @@\n a\n-b\n+c"), [
    { kind: "same", text: " a\n" },
    { kind: "gone", text: "-b\n" },
    { kind: "new", text: "+c\n" },
  ])
})

test("a service without a name is not saved, and its mistakes are listed", async () => {
  const problems = [{ field: "name", message: "a name has 1 to 64 characters" }]
  const api = fakeApi({ "POST /configuration/preview/services": { diff: "", problems, refusal: "", results: [] } })
  const store = editor(/** @type {any} */ ({ api }))
  store.file = /** @type {any} */ ({ etag: '"1"', services: [] })
  store.begin("new", "", { checks: [{ http: "http://h/" }] })

  await store.save()

  assert.deepEqual(
    api.asked.map(({ method }) => method),
    ["POST"],
  )
  assert.deepEqual(store.preview.problems, problems)
  assert.equal(store.saving, false)
})

test("a long list of services has a filter by name, group, tags and kinds of checks", async () => {
  const services = Array.from({ length: 13 }, (_, n) => ({
    name: `svc-${n}`,
    fields: {
      group: n === 1 ? "Media" : "apps",
      tags: n === 2 ? ["home", 7] : [],
      checks: [{ [n === 3 ? "tcp" : "http"]: "h" }],
    },
  }))
  const store = editor(
    /** @type {any} */ ({
      api: fakeApi({ "/configuration/services": { services }, "/configuration/changes": { items: [] } }),
    }),
  )
  await store.load()
  const found = (/** @type {string} */ filter) => {
    store.filter = filter
    return store.matching.map(({ name }) => name)
  }

  assert.deepEqual([store.filters, found("").length], [true, 13])
  assert.deepEqual(
    [found(" MEDIA "), found("home"), found("tcp"), found("svc-12")],
    [["svc-1"], ["svc-2"], ["svc-3"], ["svc-12"]],
  )
  store.file = /** @type {any} */ ({ services: services.slice(0, 12) })
  assert.deepEqual([found("none of these"), store.filters], [[], true], "what is typed can be removed")
  store.exit()
  assert.deepEqual([store.filter, store.filters], ["", false])
})
