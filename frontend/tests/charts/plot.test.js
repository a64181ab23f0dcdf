import assert from "node:assert/strict"
import test from "node:test"
import { axisWidth } from "../../src/charts/plot.js"

test("the axis width grows with its longest label", () => {
  assert.deepEqual([null, ["0", "500"], ["0", "10,000"], ["0", "1,000,000"]].map(axisWidth), [34, 34, 52, 73])
})
