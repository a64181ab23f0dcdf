import assert from "node:assert/strict"
import test from "node:test"
import { drafts } from "../../src/shared/memory-form/drafts.js"
import { readDraft } from "../../src/shared/memory-form/draft.js"
import { NOON, fakeStorage } from "../fakes.js"

test("the latest draft of a row is returned", () => {
  const storage = fakeStorage()
  let now = NOON
  const kept = drafts({ storage, now: () => now++ })
  kept.keep(7, { version: 3, draft: "new" })
  kept.keep(7, { version: 2, draft: "old" })
  kept.keep(70, { version: 1, draft: "another" })

  assert.deepEqual(kept.of(7), { at: NOON + 1, version: 2, base: null, draft: "old" })
  kept.drop(7, 2)
  assert.equal(drafts({ storage }).of(7).draft, "new")
  assert.equal(kept.of(8), null)
})

test("only the latest 50 drafts are stored", () => {
  const storage = fakeStorage({ "lamplighter.theme": "dark" })
  let now = NOON
  const kept = drafts({ storage, now: () => now++ })

  for (let id = 1; id <= 60; id++) kept.keep(id, { version: 1, draft: `text ${id}` })

  assert.equal(Object.keys(storage.held).length, 51)
  assert.deepEqual([kept.of(10), kept.of(11).draft, storage.held["lamplighter.theme"]], [null, "text 11", "dark"])
})

test("without working storage, a draft lasts as long as the page", () => {
  const kept = drafts({ storage: { getItem: () => null, setItem() {}, removeItem() {} }, now: () => NOON })

  kept.keep(7, { version: 1, draft: "text" })

  assert.equal(kept.of(7).draft, "text")
})

test("corrupt stored drafts are ignored", () => {
  const held = { "lamplighter.draft.7-1": "{", "lamplighter.draft.7-2": "[]", "lamplighter.draft.7-3": "null" }

  assert.equal(drafts({ storage: fakeStorage(held) }).of(7), null)
  assert.equal(readDraft({ observation: 7, service: "jellyfin", confidence: "high" }).observation, "")
  assert.equal(readDraft(null).category, "behavior")
  assert.equal(readDraft({ service: "jellyfin", confidence: "high" }).confidence, 0.7)
})
