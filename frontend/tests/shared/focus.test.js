import assert from "node:assert/strict"
import { afterEach, test } from "node:test"
import { focusAfter } from "../../src/shared/browser/focus.js"

const FRAMES = 30

/** @param {number} frames the number of frames for which it is visible */
function element(frames) {
  return { checkVisibility: () => frames-- > 0 }
}

/** Run the next frames and return the number of focus calls. @param {any} held */
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

test("focus moves when the focused element is gone", async () => {
  assert.equal(await drawn(null), 1)
})

test("focus moves when a button is hidden in a later frame", async () => {
  assert.equal(await drawn(element(3)), 1)
})

test("focus stays on an element that remains visible", async () => {
  assert.equal(await drawn(element(FRAMES * 2)), 0)
})
