import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import test from "node:test"
import vm from "node:vm"

const SOURCE = readFileSync(new URL("../../public/sw.js", import.meta.url), "utf8")

/** Run the worker in a browser with these windows. Record the notifications it shows and the pages it opens. */
function worker(windows = []) {
  const [listeners, shown, opened] = [{}, [], []]
  const self = {
    location: { origin: "https://here" },
    addEventListener: (name, listener) => (listeners[name] = listener),
    registration: { showNotification: async (title, options) => shown.push({ title, ...options }) },
    clients: { matchAll: async () => windows, openWindow: async (url) => opened.push(url) },
  }
  vm.runInNewContext(SOURCE, { self, URL })
  const send = async (name, event) => {
    let work
    listeners[name]({ ...event, waitUntil: (promise) => (work = promise) })
    await work
  }
  return { send, shown, opened }
}

test("a push message shows a notification, even if its data is unreadable", async () => {
  const { send, shown } = worker()
  await send("push", { data: { json: () => ({ title: "Web is down", body: "refused", link: "/incidents/3" }) } })
  await send("push", {
    data: {
      json() {
        throw new SyntaxError("no JSON")
      },
    },
  })
  assert.deepEqual(
    shown.map(({ title, body, tag }) => [title, body, tag]),
    [
      ["Web is down", "refused", "/incidents/3"],
      ["Lamplighter", "", undefined],
    ],
  )
})

test("a click on a notification opens its page, and the start page for another origin", async () => {
  const focused = []
  const { send, opened } = worker([{ url: "https://here/approvals/4", focus: () => focused.push("4") }])
  const click = (link) => send("notificationclick", { notification: { close: () => {}, data: { link } } })
  await click("/approvals/4")
  await click("/incidents/3")
  await click("https://elsewhere/")
  await click("")
  assert.deepEqual(focused, ["4"])
  assert.deepEqual(opened, ["https://here/incidents/3", "https://here/", "https://here/"])
})
