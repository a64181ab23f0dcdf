import assert from "node:assert/strict"
import test from "node:test"
import "../late-texts.js"
import { contextParts } from "../../src/pages/session/context-parts.js"

test("a context is split into parts, with services and memories apart", () => {
  const injected = `${"s".repeat(40)}## Operational Memory${"m".repeat(19)}`

  assert.deepEqual(
    contextParts({ system: "y".repeat(80), injected, prompt: "t".repeat(40) }).map(({ words, share }) => [
      words,
      share,
    ]),
    [
      ["System 20 tokens", 0.4],
      ["Task 10", 0.2],
      ["Services 10", 0.2],
      ["Memories 10", 0.2],
    ],
  )
})

test("the tools at the end of the system prompt are a separate part", () => {
  const system = `${"y".repeat(80)}\n## Tools\n${"t".repeat(30)}`

  const words = contextParts({ system, injected: "", prompt: "" }).map((each) => each.words)

  assert.deepEqual(words, ["System 20 tokens", "Tools 10"])
})

test("empty parts are omitted", () => {
  assert.deepEqual(contextParts({ system: "", injected: "", prompt: "" }), [])
})
