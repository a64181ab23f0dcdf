import assert from "node:assert/strict"
import test from "node:test"
import { sequence } from "../../src/shared/browser/sequence.js"
import { throttle } from "../../src/shared/browser/throttle.js"
import { fakeTimers } from "../fakes.js"

test("an action that takes longer than its interval ends before it is run again", async () => {
  const timers = fakeTimers()
  const ends = []
  const again = throttle(() => new Promise((end) => ends.push(end)), { later: timers.setTimeout, now: () => 0 })
  again()
  const ring = timers.ring()

  again()
  again()

  assert.equal(ends.length, 1)
  assert.deepEqual(timers.delays, [])
  ends[0]()
  await ring
  assert.deepEqual(timers.delays, [1_000])
})

test("an action that fails is run again when it is requested", async () => {
  const timers = fakeTimers()
  let runs = 0
  const act = async () => {
    if (++runs === 1) throw new Error("refused")
  }
  const again = throttle(act, { later: timers.setTimeout })
  again()
  await assert.rejects(timers.ring(), /refused/)

  again()
  await timers.ring()

  assert.equal(runs, 2)
})

test("a response is shown unless a later one has been shown", () => {
  const request = sequence()
  const [first, second, third] = [request(), request(), request()]

  assert.deepEqual([second(), first(), third(), second()], [true, false, true, false])
})
