const WHOLE = 100
const LOOSE = -100
const AT_WORD = 6
const IN_A_ROW = 4
const MIDDLE_LETTERS = 3

/**
 * How well a text matches what was typed; null if its letters do not all occur in their order. Matches at word starts,
 * or across words, score above zero; scattered letters score below and count only if nothing else matches.
 * @param {string} typed @param {string} text
 */
export function fits(typed, text) {
  const wanted = plain(typed).trim().replace(/\s+/g, " ")
  const held = plain(text)
  if (!wanted) return 0
  const score = whole(wanted, held) ?? walked(wanted.replaceAll(" ", ""), held)
  return score === null ? null : score - held.length / 1_000
}

/**
 * The matches, best first; loose matches only if there are no others.
 * @template T
 * @param {T[]} items
 * @param {(item: T) => number | null} score
 * @returns {T[]}
 */
export function best(items, score) {
  const scored = items.map((item) => ({ item, n: score(item) })).filter(({ n }) => n !== null)
  const tight = scored.filter(({ n }) => Number(n) > 0)
  return (tight.length ? tight : scored).sort((a, b) => Number(b.n) - Number(a.n)).map(({ item }) => item)
}

/** @param {string} wanted @param {string} held */
function whole(wanted, held) {
  const starts = places(held, wanted)
  const word = starts.find((at) => boundary(held, at))
  if (word !== undefined) return 2 * WHOLE - word / 100
  return starts.length && wanted.length >= MIDDLE_LETTERS ? WHOLE : null
}

/** @param {string} wanted @param {string} held */
function walked(wanted, held) {
  const tight = places(held, wanted[0])
    .filter((at) => boundary(held, at))
    .map((at) => walk(wanted, held, at))
    .find((score) => score !== null)
  return tight ?? (subsequence(wanted, held) ? LOOSE : null)
}

/**
 * Match letter by letter, each beside the previous one or at the start of a word.
 * @param {string} wanted
 * @param {string} held
 * @param {number} start
 */
function walk(wanted, held, start) {
  let score = 0
  let last = start - 1
  for (const letter of wanted) {
    const at = held[last + 1] === letter ? last + 1 : places(held, letter).find((n) => n > last && boundary(held, n))
    if (at === undefined) return null
    score += at === last + 1 ? IN_A_ROW : AT_WORD
    last = at
  }
  return score
}

/** @param {string} wanted @param {string} held */
function subsequence(wanted, held) {
  let from = 0
  for (const letter of wanted) {
    from = held.indexOf(letter, from) + 1
    if (!from) return false
  }
  return true
}

/** @param {string} text @param {string} part */
function places(text, part) {
  const found = []
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1)) found.push(at)
  return found
}

/** @param {string} text @param {number} at */
function boundary(text, at) {
  return at === 0 || /[\s:,·-]/.test(text[at - 1])
}

/** @param {string} text */
function plain(text) {
  return text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase()
}
