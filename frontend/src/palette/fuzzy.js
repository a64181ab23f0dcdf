const WHOLE = 100
const LOOSE = -100
const AT_WORD = 6
const IN_A_ROW = 4
const MIDDLE_LETTERS = 3

/**
 * How well a text matches what was typed; null if its letters do not all occur in their order. Matches at word starts,
 * or across words, score above zero; scattered letters score below and count only if nothing else matches.
 * @param {string} query @param {string} text
 */
export function fits(query, text) {
  const pattern = normalize(query).trim().replace(/\s+/g, " ")
  const candidate = normalize(text)
  if (!pattern) return 0
  const score = substringScore(pattern, candidate) ?? sequenceScore(pattern.replaceAll(" ", ""), candidate)
  return score === null ? null : score - candidate.length / 1_000
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
  const closeMatches = scored.filter(({ n }) => Number(n) > 0)
  return (closeMatches.length ? closeMatches : scored).sort((a, b) => Number(b.n) - Number(a.n)).map(({ item }) => item)
}

/** @param {string} pattern @param {string} candidate */
function substringScore(pattern, candidate) {
  const starts = indexesOf(candidate, pattern)
  const wordStart = starts.find((at) => isWordStart(candidate, at))
  if (wordStart !== undefined) return 2 * WHOLE - wordStart / 100
  return starts.length && pattern.length >= MIDDLE_LETTERS ? WHOLE : null
}

/** @param {string} pattern @param {string} candidate */
function sequenceScore(pattern, candidate) {
  const bestScore = indexesOf(candidate, pattern[0])
    .filter((at) => isWordStart(candidate, at))
    .map((at) => sequenceScoreFrom(pattern, candidate, at))
    .find((score) => score !== null)
  return bestScore ?? (subsequence(pattern, candidate) ? LOOSE : null)
}

/**
 * Match letter by letter, each beside the previous one or at the start of a word.
 * @param {string} pattern
 * @param {string} candidate
 * @param {number} start
 */
function sequenceScoreFrom(pattern, candidate, start) {
  let score = 0
  let lastIndex = start - 1
  for (const letter of pattern) {
    const at =
      candidate[lastIndex + 1] === letter
        ? lastIndex + 1
        : indexesOf(candidate, letter).find((n) => n > lastIndex && isWordStart(candidate, n))
    if (at === undefined) return null
    score += at === lastIndex + 1 ? IN_A_ROW : AT_WORD
    lastIndex = at
  }
  return score
}

/** @param {string} pattern @param {string} candidate */
function subsequence(pattern, candidate) {
  let from = 0
  for (const letter of pattern) {
    from = candidate.indexOf(letter, from) + 1
    if (!from) return false
  }
  return true
}

/** @param {string} text @param {string} part */
function indexesOf(text, part) {
  const indexes = []
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1)) indexes.push(at)
  return indexes
}

/** @param {string} text @param {number} at */
function isWordStart(text, at) {
  return at === 0 || /[\s:,·-]/.test(text[at - 1])
}

/** @param {string} text */
function normalize(text) {
  return text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase()
}
