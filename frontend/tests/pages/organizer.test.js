import "../late-texts.js"
import assert from "node:assert/strict"
import test from "node:test"
import { confirm } from "../../src/shared/dialogs/confirm.js"
import { outcome, would } from "../../src/pages/organizer/outcome.js"
import { organizerPage } from "../../src/pages/organizer/page.js"
import { organizer } from "../../src/pages/organizer/store.js"
import { toasts } from "../../src/shared/parts/toasts.js"
import { fakeApi, fakeJournal, fakeTimers } from "../fakes.js"

const QUEUED = { id: 3, state: "queued", counts: { raw: 9 }, act_id: 5, undone_by: null }
const DONE = { ...QUEUED, state: "completed", counts: { raw: 9, duplicates: 2, compressed: 1 } }

function setUp(answers = {}) {
  const api = fakeApi({ "/organizer/runs": { items: [], next: null }, ...answers })
  const timers = fakeTimers()
  const said = toasts({ timers: fakeTimers() })
  const asker = confirm()
  const later = (run) => (timers.next = run)
  return {
    api,
    said,
    asker,
    timers,
    store: organizer({ api, confirm: asker, toasts: said, journal: fakeJournal(), later }),
  }
}

test("the summary of a run has correct plurals", () => {
  assert.equal(outcome(DONE.counts), "Merged 2 duplicates and compressed 1 episode.")
  assert.equal(outcome({ raw: 4 }), "Nothing to organize.")
  assert.equal(would({ facts: 1 }), "A run would find 1 fact.")
  assert.equal(would({}), "A run would change nothing now.")
})

test("the remaining count is shown only after a run has ended", () => {
  const page = organizerPage(() => ({}))
  const counts = { raw: 80, raw_after: 0 }

  assert.doesNotMatch(page.facts({ ...DONE, state: "running", counts }), /80/)
  assert.match(page.facts({ ...DONE, counts }), /80 → 0/)
})

test("a run is followed through the feed until it ends, even if started elsewhere", async () => {
  const pages = [
    { items: [], next: null },
    { items: [QUEUED], next: null },
  ]
  const { store, said } = setUp({ "/organizer/runs": () => pages.shift() ?? { items: [DONE], next: null } })
  store.visit(new URLSearchParams(), null)
  await new Promise(setImmediate)
  await store.followRun({ op: "created", row: QUEUED })
  assert.equal(store.active.id, 3)

  const page = organizerPage(() => ({}))
  const at = { ...QUEUED, state: "running", stage: "compress", stage_done: 1200, stage_total: 6300 }
  store.followRun({ op: "updated", row: at })
  assert.equal(page.outcome(store.active), "Compressing old episodes: 1,200 of 6,300 (19%)")
  assert.deepEqual([page.done(store.active), page.total(store.active)], [1200, 6300])
  assert.deepEqual([page.done(QUEUED), page.total(QUEUED), page.share(QUEUED)], [null, null, 0])
  await store.followRun({ op: "updated", row: DONE })

  assert.equal(store.active, undefined)
  assert.match(said.items.at(-1).text, /^Run 3 completed\. Merged 2/)
})

test("a run is undone only after confirmation", async () => {
  const { store, asker, api } = setUp({
    "/organizer/runs/3": { ...DONE, replacements: [], reviews: [] },
    "POST /organizer/runs/3/undo": { act: 9, changed: 4 },
  })
  await store.visit(new URLSearchParams(), 3)

  const first = store.undo()
  asker.answer(false)
  await first
  assert.equal(api.asked.filter(({ method }) => method === "POST").length, 0)
  const second = store.undo()
  asker.answer(true)
  await second

  assert.equal(api.asked.filter(({ method }) => method === "POST").length, 1)
})
