import assert from "node:assert/strict"
import { afterEach, test } from "node:test"
import { focusAfter } from "../../src/shared/browser/focus.js"

const FRAMES = 30

/** @param {number} frames how many it is visible for */
function element(frames) {
  return { checkVisibility: () => frames-- > 0 }
}

/** Draw the frames that follow. @param {any} held */
async function drawn(held) {
  const body = { checkVisibility: () => true }
  let taken = 0
  Object.assign(globalThis, {
    document: { body, activeElement: held ?? body },
    requestAnimationFrame: (/** @type {() => void} */ act) => act(),
  })
  focusAfter(() => /** @type {any} */ ({ focus: () => taken++ }))
  for (let frame = 0; frame <= FRAMES + 1; frame++) await new Promise((done) => setTimeout(done))
  return taken
}

afterEach(() => {
  for (const name of ["document", "requestAnimationFrame"]) delete (/** @type {any} */ (globalThis)[name])
})

test("another element takes the focus of one that has gone", async () => {
  assert.equal(await drawn(null), 1)
})

test("a button that is hidden only in a later frame gives its focus then", async () => {
  assert.equal(await drawn(element(3)), 1)
})

test("a person who moved the focus to what stays keeps it", async () => {
  assert.equal(await drawn(element(FRAMES * 2)), 0)
})
