import assert from "node:assert/strict"
import test from "node:test"
import "../late-texts.js"
import { grouped, health, healthSentence, parts, signWords } from "../../src/pages/health/store.js"
import { NOON, fakeApi } from "../fakes.js"

const sign = (name, state = "ok", words = "") => ({ name, state, words, what_to_do: "", figure: null, at: "" })
const settled = () => new Promise(setImmediate)

async function opened(answers) {
  const api = fakeApi(answers)
  const said = []
  const toasts = { show: (text) => said.push(text), announce: (text) => said.push(text) }
  const store = health({ api, toasts, clock: { now: NOON }, now: () => NOON })
  store.visit()
  await settled()
  return { store, api, said }
}

test("checks are grouped by subject, including unknown checks", () => {
  const groups = grouped([sign("lunar_phase"), sign("services"), sign("supervisor")])

  assert.deepEqual(
    groups.map(({ group, signs }) => [group, signs.map(({ name }) => name)]),
    [
      ["running", ["supervisor"]],
      ["setup", ["services", "lunar_phase"]],
    ],
  )
})

test("the summary lists failures before warnings", () => {
  assert.equal(healthSentence([sign("log"), sign("integrity", "unknown")]), "Lamplighter is healthy.")
  assert.equal(
    healthSentence([sign("log", "warning"), sign("supervisor", "failing"), sign("space", "failing")]),
    "2 checks failing: Supervisor, Free space. 1 warning: Write-ahead log.",
  )
})

test("messages do not repeat the check name, and commands are marked", () => {
  assert.equal(signWords(sign("engine", "ok", "Engine exec")), "exec")
  assert.equal(signWords(sign("space", "ok", "Space 71 GB left")), "71 GB left")
  assert.deepEqual(
    parts("Run `lamplighter up`.").map(({ words, typed }) => [words, typed]),
    [
      ["Run ", false],
      ["lamplighter up", true],
      [".", false],
    ],
  )
})

test("health reloads when the supervisor goes offline or online, and only then", async () => {
  const { store, api } = await opened({ "/health": { state: "ok", checks: [sign("log")] } })

  for (const away of [false, false, true, true]) store.follow(away, true)
  await settled()
  assert.equal(api.asked.length, 2)
  store.exit()
  store.follow(false, true)
  assert.equal(api.asked.length, 2)
})

test("a failed full check keeps the previous results", async () => {
  const { store, said } = await opened({
    "/health": { state: "ok", checks: [sign("log")] },
    "POST /health/checks": new Error("The server took too long to answer."),
  })

  await store.runFullCheck()

  assert.deepEqual([store.phase, store.fullCheck, store.checks.length], ["ready", false, 1])
  assert.equal(said[0], "Full check failed. The server took too long to answer.")
})

test("a missing scope is shown as forbidden", async () => {
  const refusal = Object.assign(new Error("This needs the scope health:read."), { status: 403 })
  const { store } = await opened({ "/health": refusal })

  assert.deepEqual([store.phase, store.forbidden], ["failed", true])
})
