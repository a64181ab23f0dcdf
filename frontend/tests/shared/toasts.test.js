import assert from "node:assert/strict"
import { test } from "node:test"
import { toasts } from "../../src/shared/parts/toasts.js"
import { fakeTimers } from "../fakes.js"

test("a burst of announcements is combined after the first one", async () => {
  const timers = fakeTimers()
  const store = toasts({ timers })

  store.announce("1 new memory", "memories")
  const first = store.announced
  for (let n = 2; n <= 50; n++) store.announce(`${n} new memories`, "memories")
  store.announce("1 new event", "events")
  const meanwhile = store.announced
  const waits = timers.delays
  await timers.ring()

  assert.deepEqual([first, meanwhile, waits], ["1 new memory", "1 new memory", [3_000]])
  assert.equal(store.announced, "50 new memories. 1 new event")
})

test("after a pause, an announcement is made at once", async () => {
  const timers = fakeTimers()
  const store = toasts({ timers })
  store.announce("one")
  await timers.ring()
  store.announce("two")

  assert.equal(store.announced, "two")
})
