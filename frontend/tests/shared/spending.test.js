import assert from "node:assert/strict"
import test from "node:test"
import "../late-texts.js"
import { costWords, dollars, ofModel, tokenWords } from "../../src/shared/format/spending.js"

const NONE = { input_tokens: null, output_tokens: null, cache_read_tokens: null, cache_write_tokens: null }
const session = (changes) => ({ engine: "claude", model: "m", cost_usd: null, budget_usd: null, ...NONE, ...changes })

test("an unknown cost is never shown as zero", () => {
  assert.deepEqual(
    [session(), session({ budget_usd: 0.5 }), session({ cost_usd: 0.1834, budget_usd: 0.5 })].map(costWords),
    ["cost unknown", "cost unknown of $0.50", "$0.18 of $0.50"],
  )
})

test("a session without a model shows no cost or tokens", () => {
  const probe = session({ engine: "probe", model: null, cost_usd: 0 })

  assert.deepEqual([ofModel(probe), costWords(probe), tokenWords(probe)], [false, "", ""])
})

test("small amounts keep their significant digits", () => {
  assert.deepEqual([0, 0.00001, 0.0042, 0.183, 12.5].map(dollars), ["$0", "< $0.0001", "$0.0042", "$0.18", "$12.50"])
})

test("token counts include input from the cache", () => {
  const used = { input_tokens: 7_210, cache_read_tokens: 41_000, cache_write_tokens: 0, output_tokens: 1_204 }

  assert.equal(tokenWords(session(used)), "48.2K tokens in (41K from the cache), 1.2K out")
  assert.equal(tokenWords(session({ input_tokens: 10, output_tokens: 2 })), "10 tokens in, 2 out")
})
