import assert from "node:assert/strict"
import test from "node:test"
import { createFeed } from "../../src/feed/index.js"
import { reloadOnLogout } from "../../src/shared/browser/reload.js"
import { login } from "../../src/shared/frame/logout.js"
import { NOON, fakeApi, fakeStorage, fakeTimers } from "../fakes.js"

function page(storage = fakeStorage(), now = () => NOON) {
  const loads = []
  return { loads, reloadOnce: reloadOnLogout({ reload: () => loads.push(1), storage, now }) }
}

test("a logged-out page reloads once, even after several refusals", () => {
  const { loads, reloadOnce } = page()

  reloadOnce()
  reloadOnce()

  assert.equal(loads.length, 1)
})

test("a page reloads at most once in 10 seconds", () => {
  const storage = fakeStorage()
  page(storage).reloadOnce()
  const early = page(storage, () => NOON + 9_999)
  const later = page(storage, () => NOON + 10_000)

  early.reloadOnce()
  later.reloadOnce()

  assert.equal(early.loads.length, 0)
  assert.equal(later.loads.length, 1)
})

test("a refused feed calls the refused handler", () => {
  let refused = 0
  const feed = createFeed({ changes: async () => ({}), refused: () => refused++, timers: fakeTimers() })

  feed.receive({ kind: "refused" })

  assert.equal(refused, 1)
})

test("logging out deletes the login and reloads the page", async () => {
  const api = fakeApi({ "DELETE /login": null })
  const loads = []

  await login({ api, reload: () => loads.push(1), toasts: null }).end()

  assert.deepEqual(
    api.asked.map(({ method, path }) => `${method} ${path}`),
    ["DELETE /login"],
  )
  assert.equal(loads.length, 1)
})

test("a failed logout shows an error", async () => {
  const api = fakeApi({ "DELETE /login": new Error("The server cannot be reached.") })
  const loads = []
  const said = []
  const store = login({ api, reload: () => loads.push(1), toasts: { show: (text) => said.push(text) } })

  await store.end()

  assert.deepEqual(said, ["Not logged out. The server cannot be reached."])
  assert.equal(loads.length, 0)
  assert.equal(store.ending, false)
})
