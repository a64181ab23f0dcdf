import assert from "node:assert/strict"
import { test } from "node:test"
import { t } from "../../src/shared/texts/index.js"

test("a text uses the plural form of its number", () => {
  assert.equal(t("common.memories", { n: 1 }), "1 memory")
  assert.equal(t("common.memories", { n: 12_345 }), "12,345 memories")
})
