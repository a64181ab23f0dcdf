import assert from "node:assert/strict"
import test from "node:test"
import { axisWidth, tickSpace } from "../../src/charts/plot.js"

test("the axis width grows with its longest label", () => {
  assert.deepEqual([null, ["0", "500"], ["0", "10,000"], ["0", "1,000,000"]].map(axisWidth), [34, 34, 52, 73])
})

test("an axis of a chart of any height has a label above zero", () => {
  const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000]
  for (const height of [60, 84, 96]) {
    const labels = (most) => steps.find((step) => (step / most) * (height - 32) >= tickSpace(height)) <= most
    assert.deepEqual(
      Array.from({ length: 20_000 }, (_, n) => n + 1).filter((most) => !labels(most)),
      [],
      `${height}`,
    )
  }
})
