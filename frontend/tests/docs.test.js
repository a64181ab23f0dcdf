import assert from "node:assert/strict"
import { readFileSync, readdirSync } from "node:fs"
import { test } from "node:test"
import { registry } from "../src/commands/index.js"
import { learn } from "../src/texts.js"
import { late } from "../src/texts/late.js"

const PLACES = ["../src/commands/", "../src/late/commands/"].map((each) => new URL(each, import.meta.url))

/** Whatever a command is made of, it is there. */
const anything = new Proxy(() => {}, {
  get: (_, name) => (typeof name === "symbol" ? undefined : anything),
  apply: () => anything,
})

async function commands() {
  const modules = {}
  learn(late)
  for (const place of PLACES) for (const name of readdirSync(place)) modules[name] = await import(new URL(name, place))
  return registry(modules, new Proxy({}, { get: () => anything }))
}

test("the keys in the docs are those of the registry, with what they do", async () => {
  const page = readFileSync(new URL("../../docs/reference/app.md", import.meta.url), "utf8")
  const [, section] = page.split("\n## Keys\n")
  const told = [...section.split("\n## ")[0].matchAll(/^\| `(.+?)` \| (.+) \|$/gm)].map(
    ([, keys, label]) => `${keys}: ${label}`,
  )

  const held = (await commands()).filter(({ keys }) => keys).map(({ keys, label }) => `${keys}: ${label}`)

  assert.deepEqual(told.sort(), [...new Set(held)].sort())
})
