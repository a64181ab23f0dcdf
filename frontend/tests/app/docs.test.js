import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { test } from "node:test"
import { commandFiles } from "../command-files.js"
import { registry } from "../../src/palette/registry.js"
import { addTexts } from "../../src/shared/texts/index.js"
import { late } from "../../src/shared/texts/late.js"

/** A stub for every store and property that a command reads. */
const anything = new Proxy(() => {}, {
  get: (_, name) => (typeof name === "symbol" ? undefined : anything),
  apply: () => anything,
})

async function commands() {
  const modules = {}
  addTexts(late)
  for (const file of commandFiles()) modules[file] = await import(file)
  return registry(modules, new Proxy({}, { get: () => anything }))
}

test("the docs list exactly the keys of the command registry, with their labels", async () => {
  const page = readFileSync(new URL("../../../docs/reference/app.md", import.meta.url), "utf8")
  const [, section] = page.split("\n## Keys\n")
  const told = [...section.split("\n## ")[0].matchAll(/^\| `(.+?)` \| (.+) \|$/gm)].map(
    ([, keys, label]) => `${keys}: ${label}`,
  )

  const held = (await commands()).filter(({ keys }) => keys).map(({ keys, label }) => `${keys}: ${label}`)

  assert.deepEqual(told.sort(), [...new Set(held)].sort())
})
