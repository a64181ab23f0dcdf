const CELLS = 250_000

/** @typedef {{kind: "same" | "gone" | "new" | "hit", text: string}} Part */

/**
 * The changes of a text, word by word: the longest common subsequence is unchanged, the rest is removed or added. In
 * texts too long to compare, everything between the common start and end is removed and added.
 * @param {string} before @param {string} after @returns {Part[]}
 */
export function wordDiff(before, after) {
  return joined(listDiff(wordsOf(before), wordsOf(after)))
}

/**
 * The changes of a list of texts, one part for each text.
 * @param {string[]} old
 * @param {string[]} now
 * @returns {Part[]}
 */
export function listDiff(old, now) {
  const head = common(old, now)
  const tail = common(old.slice(head).reverse(), now.slice(head).reverse())
  const [oldEnd, nowEnd] = [old.length - tail, now.length - tail]
  return [
    ...as("same", now.slice(0, head)),
    ...between(old.slice(head, oldEnd), now.slice(head, nowEnd)),
    ...as("same", now.slice(nowEnd)),
  ]
}

/** The old side: unchanged and removed parts. @param {Part[]} parts */
export function oldSide(parts) {
  return parts.filter(({ kind }) => kind !== "new")
}

/** The new side: unchanged and added parts. @param {Part[]} parts */
export function newSide(parts) {
  return parts.filter(({ kind }) => kind !== "gone")
}

const LONG = 160
const KEPT = 60

/**
 * The same parts, with long unchanged stretches shortened to their start and end.
 * @param {Part[]} parts
 * @returns {Part[]}
 */
export function briefly(parts) {
  return parts.map(({ kind, text }, at) => {
    if (kind !== "same" || text.length <= LONG) return { kind, text }
    const [head, tail] = [at > 0 ? text.slice(0, KEPT) : "", at < parts.length - 1 ? text.slice(-KEPT) : ""]
    return { kind, text: `${head}…${tail}` }
  })
}

/** Words, and the text between them. @param {string} text */
function wordsOf(text) {
  return text.match(/\s+|[^\s]+/g) ?? []
}

/** The number of common words at the start of two texts. @param {string[]} a @param {string[]} b */
function common(a, b) {
  let n = 0
  while (n < a.length && n < b.length && a[n] === b[n]) n++
  return n
}

/** @param {Part["kind"]} kind @param {string[]} words @returns {Part[]} */
function as(kind, words) {
  return words.map((text) => ({ kind, text }))
}

/** @param {string[]} old @param {string[]} now @returns {Part[]} */
function between(old, now) {
  if (old.length * now.length > CELLS) return [...as("gone", old), ...as("new", now)]
  const left = lengths(old, now)
  /** @type {Part[]} */
  const parts = []
  let [i, j] = [0, 0]
  while (i < old.length && j < now.length) {
    if (old[i] === now[j]) parts.push({ kind: "same", text: (i++, now[j++]) })
    else if (left[i + 1][j] >= left[i][j + 1]) parts.push({ kind: "gone", text: old[i++] })
    else parts.push({ kind: "new", text: now[j++] })
  }
  return [...parts, ...as("gone", old.slice(i)), ...as("new", now.slice(j))]
}

/** The length of the common subsequence from each pair of positions on. @param {string[]} old @param {string[]} now */
function lengths(old, now) {
  const table = Array.from({ length: old.length + 1 }, () => new Uint16Array(now.length + 1))
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = now.length - 1; j >= 0; j--)
      table[i][j] = old[i] === now[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1])
  return table
}

/**
 * Merge adjacent parts of a kind; a space alone between two changes belongs to both: "10 s" for "60 s ago" reads better
 * than word, space, word.
 * @param {Part[]} parts
 */
function joined(parts) {
  /** @type {Part[]} */
  const runs = []
  let [gone, fresh] = ["", ""]
  const settle = () => {
    if (gone) runs.push({ kind: "gone", text: gone })
    if (fresh) runs.push({ kind: "new", text: fresh })
    gone = fresh = ""
  }
  parts.forEach(({ kind, text }, at) => {
    const apart = kind === "same" && !text.trim() && (gone || fresh) && changes(parts[at + 1])
    if (kind === "gone" || apart) gone += text
    if (kind === "new" || apart) fresh += text
    if (kind !== "same" || apart) return
    settle()
    const last = runs.at(-1)
    if (last?.kind === "same") last.text += text
    else runs.push({ kind, text })
  })
  settle()
  return runs
}

/** @param {Part | undefined} part */
function changes(part) {
  return part !== undefined && part.kind !== "same"
}
