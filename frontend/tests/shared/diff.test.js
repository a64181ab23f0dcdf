import assert from "node:assert/strict"
import test from "node:test"
import { briefly, newSide, oldSide, wordDiff } from "../../src/shared/format/diff.js"

const text = (parts) => parts.map((part) => part.text).join("")
const shown = (parts) => parts.map(({ kind, text }) => ({ same: text, gone: `[-${text}-]`, new: `{+${text}+}` })[kind])

const CASES = [
  ["Takes 60s to start", "Takes 60s to start", "Takes 60s to start"],
  ["Takes 60s to start", "Takes 10s to start", "Takes [-60s-]{+10s+} to start"],
  ["Takes 60s to start", "Now takes 10s to start", "[-Takes 60s-]{+Now takes 10s+} to start"],
  ["Takes 60s", "Takes 60s (after a restart)", "Takes 60s{+ (after a restart)+}"],
  ["Restart caddy first", "Restart first", "Restart [-caddy -]first"],
  ["", "New words", "{+New words+}"],
  ["Old words", "", "[-Old words-]"],
  ["", "", ""],
  ["a b c", "x y z", "[-a b c-]{+x y z+}"],
  ["wait a long time here", "wait for a long time or two here", "wait {+for +}a long time{+ or two+} here"],
  ["does not start", "does start", "does [-not -]start"],
]
for (const [before, after, expected] of CASES) {
  test(`"${before}" changes to "${after}"`, () => {
    assert.equal(shown(wordDiff(before, after)).join(""), expected)
  })
}

test("both sides of a diff rebuild their texts, for random texts", () => {
  const random = (seed) => {
    let state = seed
    return (n) => (state = (state * 1_103_515_245 + 12_345) % 2_147_483_648) % n
  }
  for (let seed = 1; seed <= 500; seed++) {
    const next = random(seed)
    const words = () => Array.from({ length: next(12) }, () => ["a", "b", " ", "\n", "not", "c  d"][next(6)]).join(" ")
    const [before, after] = [words(), words()]

    const parts = wordDiff(before, after)

    assert.deepEqual([text(oldSide(parts)), text(newSide(parts))], [before, after], `seed ${seed}`)
  }
})

test("unchanged text is shortened around the changes", () => {
  const long = "word ".repeat(100)

  const parts = briefly(wordDiff(`${long}old ${long}`, `${long}new ${long}`))

  assert.deepEqual(
    parts.map(({ kind, text }) => [kind, text.length, text.includes("…")]),
    [
      ["same", 61, true],
      ["gone", 3, false],
      ["new", 3, false],
      ["same", 61, true],
    ],
  )
})

test("texts too long to compare keep their common start and end", () => {
  const middle = (word) => Array.from({ length: 2_000 }, (_, n) => `${word}${n}`).join(" ")

  const parts = wordDiff(`begin ${middle("a")} end`, `begin ${middle("b")} end`)

  assert.deepEqual(
    parts.map(({ kind }) => kind),
    ["same", "gone", "new", "same"],
  )
})
