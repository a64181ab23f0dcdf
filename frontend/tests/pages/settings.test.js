import assert from "node:assert/strict"
import test from "node:test"
import "../late-texts.js"
import { OWN, devices } from "../../src/pages/settings/devices.js"
import { rangeWords, settings, sourceWords } from "../../src/pages/settings/store.js"
import { expiryWords, tokens } from "../../src/pages/settings/tokens.js"
import { NOON, fakeApi } from "../fakes.js"

const setting = (name, changes = {}) => ({
  name,
  variable: `LAMPLIGHTER_${name.toUpperCase()}`,
  value: "1h",
  default: "1h",
  source: "default",
  line: null,
  about: "",
  range: "100ms to 366d",
  group: name === "interval" ? "Checks" : "Server",
  next: null,
  ...changes,
})
const STATE = {
  settings: [
    setting("host"),
    setting("interval", { source: "environment", value: "2h" }),
    setting("port", { next: "81" }),
  ],
  warnings: ["LAMPLIGHTER_X is not a setting of Lamplighter; it is not used."],
  refused: ["interval 'soon' is not a duration"],
  files: [{ name: "settings", path: "/srv/lamplighter.toml", exists: false, says: "", problems: [] }],
  about: {},
  edit: { policy: "checks", etag: "e1", obstacle: "" },
}
const token = (id, changes = {}) => ({
  id,
  name: "",
  scopes: ["read"],
  revoked_at: null,
  expires_at: null,
  used_at: null,
  ...changes,
})
const settled = () => new Promise(setImmediate)

async function opened(answers = {}) {
  const api = fakeApi({ "/settings": STATE, "/tokens": { items: [] }, ...answers })
  const said = []
  const keyring = tokens({
    api,
    confirm: { ask: async () => true },
    toasts: { show: (text) => said.push(text) },
    now: () => NOON,
  })
  const toasts = { show: (text) => said.push(text) }
  const later = (run) => queueMicrotask(run)
  const store = settings({ api, tokens: keyring, toasts, journal: { undoing: () => undefined }, later })
  store.visit()
  await settled()
  return { store, keyring, api, said }
}

test("a setting shows its source and its accepted values", () => {
  assert.equal(sourceWords(setting("port")), "default")
  assert.equal(sourceWords(setting("port", { source: "environment" })), "environment, LAMPLIGHTER_PORT")
  assert.equal(sourceWords(setting("port", { source: "lamplighter.toml", line: 4 })), "lamplighter.toml, line 4")
  assert.equal(
    sourceWords(setting("memory_budget", { source: "CLAUDEOPS_MEMORY_BUDGET" })),
    "environment, CLAUDEOPS_MEMORY_BUDGET",
  )
  assert.equal(rangeWords(setting("x")), "Accepts 100ms to 366d. The default is 1h.")
  assert.equal(rangeWords(setting("x", { range: "", default: "" })), "No default.")
})

test("settings are grouped and searchable, and errors that would prevent a start are shown", async () => {
  const { store } = await opened()
  const names = () => store.groups.map(({ name, items }) => [name, items.map((each) => each.name)])

  assert.deepEqual(names(), [
    ["Server", ["host", "port"]],
    ["Checks", ["interval"]],
  ])
  store.filter = "PORT"
  assert.deepEqual(names(), [["Server", ["port"]]])
  assert.equal(store.warnings[0], "The next start would fail: interval 'soon' is not a duration")
})

test("a setting is previewed, saved with its version, and says when it applies", async () => {
  const { store, api, said } = await opened({
    "POST /configuration/preview/settings": { diff: '+host = "box"', problems: [], refusal: "" },
    "PATCH /configuration/settings": { etag: "e2" },
  })
  const [host] = store.groups[0].items
  store.edit(host)
  store.type("box")
  await settled()
  assert.equal(store.diff, '+host = "box"')

  await store.save(host, store.value)

  const { body, version } = api.asked.find(({ method }) => method === "PATCH")
  assert.deepEqual([body, version], [{ values: { host: "box" } }, "e1"])
  assert.deepEqual(said, ["LAMPLIGHTER_HOST saved."])
  assert.equal(store.editing, "")
  assert.equal(store.applies(host), "A change applies on the next start.")
  assert.equal(store.applies(setting("notify", { live: true })), "A change applies within seconds.")
})

test("a read-only setting says why", async () => {
  const { store } = await opened()

  assert.equal(store.refusal(setting("port")), "")
  assert.match(store.refusal(setting("edit")), /srv.lamplighter.toml only/)
  assert.match(store.refusal(setting("exec_command", { command: true })), /LAMPLIGHTER_EDIT=all/)
  assert.match(store.refusal(setting("interval", { source: "environment" })), /overrides the file/)
  store.state.edit.policy = "no"
  assert.match(store.refusal(setting("port")), /turned off/)
})

test("a secret is not copied into the edit field", async () => {
  const { store } = await opened()

  store.edit(setting("notify", { value: "***", secret: true }))

  assert.equal(store.value, "")
})

test("a masked password is not copied into the edit field", async () => {
  const { store } = await opened()

  store.edit(setting("database_url", { value: "postgresql://us:***@db/x" }))

  assert.equal(store.value, "")
})

test("a new token is cleared when the user leaves the page", async () => {
  const { store, keyring } = await opened({ "POST /tokens": { ...token(7), token: "lamp_7_words" } })
  keyring.show()
  keyring.draft.days = 30
  await keyring.create()
  assert.deepEqual([keyring.minted?.token, keyring.open], ["lamp_7_words", false])

  store.exit()

  assert.equal(keyring.minted, null)
})

test("inactive tokens are hidden and show when they ended", async () => {
  const gone = token(2, { revoked_at: "2026-01-14T11:00:00Z" })
  const { keyring } = await opened({
    "/tokens": { items: [token(1), gone, token(3, { expires_at: "2026-01-13T12:00:00Z" })] },
  })

  assert.deepEqual([keyring.shown.length, keyring.endedWords], [1, "Show 2 inactive tokens"])
  keyring.toggleEnded()
  assert.equal(keyring.shown.length, 3)
  assert.deepEqual(
    [gone, keyring.items[2], token(4)].map((each) => expiryWords(each, NOON)),
    ["revoked 1 h ago", "expired 1 d ago", "never expires"],
  )
})

test("a token is revoked after confirmation", async () => {
  const { keyring, api, said } = await opened({ "DELETE /tokens/1": null })

  await keyring.revoke(token(1, { name: "backup" }))

  assert.equal(api.asked.at(-2).method, "DELETE")
  assert.deepEqual(said, ["backup is revoked."])
})

const device = (id, changes = {}) => ({
  id,
  name: "Chrome on Android",
  host: "fcm.googleapis.com",
  sent_at: null,
  problem: "",
  ...changes,
})

function ofBrowser({ obstacle = "", endpoint = "", made = null } = {}) {
  const push = {
    obstacle,
    asked: [],
    endpoint: async () => endpoint,
    subscribe: async (key) => (push.asked.push(key), (endpoint = made?.endpoint ?? endpoint), made),
    unsubscribe: async () => (endpoint = ""),
  }
  return push
}

function remembering(items = {}) {
  return {
    items,
    getItem: (key) => items[key] ?? null,
    setItem: (key, value) => (items[key] = value),
    removeItem: (key) => delete items[key],
  }
}

test("a browser subscribes with the server's key, becomes a device and can be removed", async () => {
  const made = { endpoint: "https://fcm.googleapis.com/1", keys: { p256dh: "p", auth: "a" } }
  const listed = []
  const api = fakeApi({
    "GET /devices": () => ({ key: "public", devices: listed }),
    "POST /devices": () => (listed.push(device(4)), device(4)),
    "DELETE /devices/4": () => void listed.pop() ?? null,
  })
  const [push, store, said] = [ofBrowser({ made }), remembering(), []]
  const found = devices({ api, push, store, clock: { now: NOON }, toasts: { show: (text) => said.push(text) } })
  await found.load()
  assert.equal(found.on, false)

  await found.turnOn()

  assert.deepEqual(push.asked, ["public"])
  assert.deepEqual(api.asked.find(({ method }) => method === "POST").body, made)
  assert.equal(found.on, true)
  assert.equal(found.when(found.items[0]), "fcm.googleapis.com · no notification yet")

  await found.remove(found.items[0])

  assert.equal(found.on, false)
  assert.equal(await push.endpoint(), "")
  assert.deepEqual(said, ["This browser receives notifications.", "Chrome on Android receives no more notifications."])
})

test("a browser without permission stays off, and an obstacle is explained", async () => {
  const api = fakeApi({ "/devices": { key: "public", devices: [device(4)] } })
  const toasts = { show: () => {} }
  const refusing = devices({ api, push: ofBrowser(), store: remembering(), clock: { now: NOON }, toasts })
  await refusing.load()
  await refusing.turnOn()
  assert.equal(refusing.on, false)
  assert.ok(api.asked.every(({ method }) => method === "GET"))

  for (const [obstacle, words] of [
    ["insecure", /HTTPS or on localhost/],
    ["unsupported", /cannot receive/],
    ["blocked", /blocks notifications/],
  ]) {
    const other = devices({
      api,
      push: ofBrowser({ obstacle }),
      store: remembering({ [OWN]: "4" }),
      clock: { now: NOON },
      toasts,
    })
    await other.load()
    assert.match(other.obstacleWords, words)
    assert.equal(other.isOwn(other.items[0]), false)
  }
})
