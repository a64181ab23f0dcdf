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
 * @param {string[]} oldItems
 * @param {string[]} newItems
 * @returns {Part[]}
 */
export function listDiff(oldItems, newItems) {
  const head = commonLength(oldItems, newItems)
  const tail = commonLength(oldItems.slice(head).reverse(), newItems.slice(head).reverse())
  const [oldEnd, nowEnd] = [oldItems.length - tail, newItems.length - tail]
  return [
    ...partsOf("same", newItems.slice(0, head)),
    ...diffMiddle(oldItems.slice(head, oldEnd), newItems.slice(head, nowEnd)),
    ...partsOf("same", newItems.slice(nowEnd)),
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
    const [start, end] = [at > 0 ? text.slice(0, KEPT) : "", at < parts.length - 1 ? text.slice(-KEPT) : ""]
    return { kind, text: `${start}…${end}` }
  })
}

/** Words, and the text between them. @param {string} text */
function wordsOf(text) {
  return text.match(/\s+|[^\s]+/g) ?? []
}

/** The number of common words at the start of two texts. @param {string[]} a @param {string[]} b */
function commonLength(a, b) {
  let n = 0
  while (n < a.length && n < b.length && a[n] === b[n]) n++
  return n
}

/** @param {Part["kind"]} kind @param {string[]} items @returns {Part[]} */
function partsOf(kind, items) {
  return items.map((text) => ({ kind, text }))
}

/** @param {string[]} oldItems @param {string[]} newItems @returns {Part[]} */
function diffMiddle(oldItems, newItems) {
  if (oldItems.length * newItems.length > CELLS) return [...partsOf("gone", oldItems), ...partsOf("new", newItems)]
  const commonLengths = lengthTable(oldItems, newItems)
  /** @type {Part[]} */
  const parts = []
  let [i, j] = [0, 0]
  while (i < oldItems.length && j < newItems.length) {
    if (oldItems[i] === newItems[j]) parts.push({ kind: "same", text: (i++, newItems[j++]) })
    else if (commonLengths[i + 1][j] >= commonLengths[i][j + 1]) parts.push({ kind: "gone", text: oldItems[i++] })
    else parts.push({ kind: "new", text: newItems[j++] })
  }
  return [...parts, ...partsOf("gone", oldItems.slice(i)), ...partsOf("new", newItems.slice(j))]
}

/** The length of the common subsequence from each pair of positions on. @param {string[]} oldItems @param {string[]} newItems */
function lengthTable(oldItems, newItems) {
  const table = Array.from({ length: oldItems.length + 1 }, () => new Uint16Array(newItems.length + 1))
  for (let i = oldItems.length - 1; i >= 0; i--)
    for (let j = newItems.length - 1; j >= 0; j--)
      table[i][j] = oldItems[i] === newItems[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1])
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
  let [removedText, addedText] = ["", ""]
  const flush = () => {
    if (removedText) runs.push({ kind: "gone", text: removedText })
    if (addedText) runs.push({ kind: "new", text: addedText })
    removedText = addedText = ""
  }
  parts.forEach(({ kind, text }, at) => {
    const isSeparator = kind === "same" && !text.trim() && (removedText || addedText) && changes(parts[at + 1])
    if (kind === "gone" || isSeparator) removedText += text
    if (kind === "new" || isSeparator) addedText += text
    if (kind !== "same" || isSeparator) return
    flush()
    const last = runs.at(-1)
    if (last?.kind === "same") last.text += text
    else runs.push({ kind, text })
  })
  flush()
  return runs
}

/** @param {Part | undefined} part */
function changes(part) {
  return part !== undefined && part.kind !== "same"
}
