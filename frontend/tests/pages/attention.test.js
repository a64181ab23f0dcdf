import assert from "node:assert/strict"
import test from "node:test"
import { attention } from "../../src/pages/overview/attention.js"

const people = (...names) => names.map((service) => ({ service }))
const names = (store) => store.rows.map(({ service }) => service)

test("services that need a person after the page opened take one line, which an operator expands", () => {
  const store = attention()
  store.take([])

  store.take(people("a"))
  assert.deepEqual([names(store), store.others], [["a"], 0])
  store.take(people("a", "b", "c", "d", "e", "f", "g"))
  assert.deepEqual([names(store), store.words], [[], "7 services need attention"])
  store.unfold()

  assert.deepEqual([names(store).length, store.others], [7, 0])
})

test("at most five services have a row when the page opens, and the rows keep their order", () => {
  const store = attention()
  store.take(people("a", "b", "c", "d", "e", "f", "g"))
  assert.deepEqual([names(store), store.words], [["a", "b", "c", "d", "e"], "2 more services need attention"])

  store.take(people("new", "a", "c", "d", "e", "f", "g"))

  assert.deepEqual([names(store), store.others], [["a", "c", "d", "e", "new"], 2])
})
