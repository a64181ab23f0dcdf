import assert from "node:assert/strict"
import test from "node:test"
import "../late-texts.js"
import { rangeWords, settings, sourceWords } from "../../src/pages/settings/store.js"
import { lastsWords, tokens } from "../../src/pages/settings/tokens.js"
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
  const store = settings({ api, tokens: keyring })
  store.visit()
  await settled()
  return { store, keyring, api, said }
}

test("a value says where it comes from and what one may write", () => {
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

test("what somebody set stands first, what would stop a start is told first", async () => {
  const { store } = await opened()

  assert.deepEqual(
    store.items.map(({ name }) => name),
    ["interval", "port", "host"],
  )
  assert.equal(store.warnings[0], "The next start would fail: interval 'soon' is not a duration")
})

test("nothing is changed here: the line is written by the server, for a person to put in", async () => {
  const { store, api } = await opened({ "POST /settings/line": { line: 'host = "box"' } })
  const [interval, , host] = store.items

  store.edit(host)
  store.value = "box"
  await store.write(host)

  assert.deepEqual(api.asked.at(-1).body, { name: "host", value: "box" })
  assert.equal(store.line, 'host = "box"')
  assert.equal(store.advice(host), "Add this line to /srv/lamplighter.toml. It applies on the next start.")
  assert.match(store.advice(interval), /LAMPLIGHTER_INTERVAL is set in the environment, which overrides the file/)
})

test("a masked password is never what one begins to edit", async () => {
  const { store } = await opened()

  store.edit(setting("database_url", { value: "postgresql://us:***@db/x" }))

  assert.equal(store.value, "")
})

test("the words of a token are gone when one leaves", async () => {
  const { store, keyring } = await opened({ "POST /tokens": { ...token(7), token: "lamp_7_words" } })
  keyring.show()
  keyring.draft.days = 30
  await keyring.create()
  assert.deepEqual([keyring.minted?.token, keyring.open], ["lamp_7_words", false])

  store.exit()

  assert.equal(keyring.minted, null)
})

test("what lets nobody in is put away, and says since when", async () => {
  const gone = token(2, { revoked_at: "2026-01-14T11:00:00Z" })
  const { keyring } = await opened({
    "/tokens": { items: [token(1), gone, token(3, { expires_at: "2026-01-13T12:00:00Z" })] },
  })

  assert.deepEqual([keyring.shown.length, keyring.endedWords], [1, "Show 2 inactive tokens"])
  keyring.toggleEnded()
  assert.equal(keyring.shown.length, 3)
  assert.deepEqual(
    [gone, keyring.items[2], token(4)].map((each) => lastsWords(each, NOON)),
    ["revoked 1 h ago", "expired 1 d ago", "never expires"],
  )
})

test("a token is revoked when somebody says so", async () => {
  const { keyring, api, said } = await opened({ "DELETE /tokens/1": null })

  await keyring.revoke(token(1, { name: "backup" }))

  assert.equal(api.asked.at(-2).method, "DELETE")
  assert.deepEqual(said, ["backup is revoked."])
})
