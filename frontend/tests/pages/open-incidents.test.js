import assert from "node:assert/strict"
import test from "node:test"
import { openIncidents } from "../../src/pages/overview/open-incidents.js"

const incident = (id, severity = "critical", more = {}) => ({ id, severity, state: "open", ...more })
const answer = (incidents, counts) => ({ incidents, open_incidents: counts })
const ids = (store) => store.rows.map(({ id }) => id)

test("incidents that open while the page is open take only the reserved space and are counted", () => {
  const store = openIncidents()
  store.take(answer([], {}))
  assert.equal(store.places, 1)

  store.take(
    answer(
      [1, 2, 3, 4, 5].map((id) => incident(id)),
      { critical: 47, warning: 3 },
    ),
  )

  assert.deepEqual([store.places, ids(store)], [1, [1]])
  assert.equal(`${store.words}: ${store.severities}`, "49 more incidents: 46 critical, 3 warnings")
})

test("an operator expands the list to the most urgent incidents", () => {
  const store = openIncidents()
  store.take(answer([incident(1)], { critical: 1 }))
  assert.deepEqual([store.folded, store.words, store.severities], [false, "All incidents", ""])
  store.take(answer([incident(1), incident(2, "warning")], { critical: 1, warning: 1 }))
  assert.equal(store.folded, true)

  store.unfold()

  assert.deepEqual([store.folded, ids(store)], [false, [1, 2]])
})

test("the space of a resolved incident stays reserved", () => {
  const store = openIncidents()
  store.take(answer([incident(1), incident(2)], { critical: 2 }))

  store.take(answer([incident(2)], { critical: 1 }))

  assert.deepEqual([store.places, ids(store)], [2, [2]])
})

test("under the pointer, incidents keep their places and show their new states", () => {
  const store = openIncidents()
  store.take(answer([incident(1, "warning")], { warning: 1 }))
  store.hold()

  store.take(answer([incident(2), incident(1, "warning", { state: "repairing" })], { critical: 1, warning: 1 }))
  assert.deepEqual(store.rows, [incident(1, "warning", { state: "repairing" })])

  store.release()
  assert.deepEqual(ids(store), [2])
})
