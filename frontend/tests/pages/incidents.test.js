import assert from "node:assert/strict"
import test from "node:test"
import "../late-texts.js"
import { incidentList } from "../../src/pages/incidents/list.js"
import { change, fakeApi, fakeFeed, fakeTimers } from "../fakes.js"

const incident = (id, state = "open", version = 1, services = [`n${id}`]) => ({
  ...{ id, state, version, services },
  title: `n${id}: tcp`,
})
const ids = (rows) => rows.map(({ id }) => id)

async function opened(address = "", items = [incident(1)], next = null) {
  const api = fakeApi({ "/incidents": { items, next, seq: 1 } })
  const timers = fakeTimers()
  const list = incidentList({ api, feed: fakeFeed(), later: timers.setTimeout })
  await list.visit(new URLSearchParams(address))
  return { list, api, timers }
}

test("under the pointer, new incidents are announced and move no row", async () => {
  const { list } = await opened()
  list.hold()

  for (const id of [2, 3, 4]) list.follow(change("created", incident(id), id, "incident"))

  assert.deepEqual([ids(list.rows), list.pill, list.openCount], [[1], "3 new incidents", 4])
  list.reveal()
  assert.deepEqual(ids(list.rows), [4, 3, 2, 1])
})

test("at rest, many incidents at once are announced", async () => {
  const { list, timers } = await opened()

  for (let id = 2; id <= 50; id += 1) list.follow(change("created", incident(id), id, "incident"))
  await timers.ring()

  assert.deepEqual([ids(list.rows), list.pill], [[2, 1], "48 new incidents"])
})

test("a resolved incident stays in its row", async () => {
  const { list, api } = await opened("state=open")

  list.follow(change("updated", incident(1, "resolved", 2), 2, "incident"))

  assert.deepEqual([list.rows[0].state, list.openCount, api.asked[0].body.state], ["resolved", 0, "open"])
})

test("the list of open incidents does not take a resolved one", async () => {
  const { list } = await opened("state=open")

  list.follow(change("updated", incident(2, "resolved", 2), 2, "incident"))

  assert.deepEqual(ids(list.rows), [1])
})

test("the list of a service takes only incidents with this service", async () => {
  const { list, api } = await opened("service=n1")

  list.follow(change("created", incident(2), 2, "incident"))
  list.follow(change("created", incident(3, "open", 1, ["db", "n1"]), 3, "incident"))

  assert.deepEqual([ids(list.rows), api.asked[0].body.service], [[3, 1], "n1"])
})

test("the number of open incidents is exact only if all are loaded", async () => {
  const pages = [
    ["", [incident(1)], null],
    ["", [incident(1, "resolved")], null],
    ["", [incident(1)], "older"],
    ["", [incident(1, "resolved")], "older"],
    ["state=resolved", [incident(1, "resolved")], null],
  ]

  const words = await Promise.all(pages.map(async (page) => (await opened(...page)).list.openWords))

  assert.deepEqual(words, [
    "1 open incident",
    "No open incident.",
    "1 or more open incidents",
    "None of the newest 1 is open.",
    "",
  ])
})
