import { listDiff } from "../../shared/format/diff.js"

/** @typedef {import("../../shared/format/diff.js").Part} Part */

const NOTES = /^## Notes[ \t]*$/m
const NUMBER = /[ \t]+\^m(\d+)[ \t]*$/

/** A text as its lines, each with its line ending. @param {string} text */
function linesOf(text) {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? []
}

/** The changes of a text, line by line. @param {string} before @param {string} after @returns {Part[]} */
export function lineDiff(before, after) {
  return listDiff(linesOf(before), linesOf(after))
}

/** Whether a diff contains a change. @param {Part[]} parts */
export function differs(parts) {
  return parts.some(({ kind }) => kind !== "same")
}

/**
 * Both edits of a text. A line that both changed appears twice, the version on disk first, so that no line is lost. Of
 * two lines of one memory only the one on disk retains its number.
 * @param {string} base @param {string} ours @param {string} disk
 */
export function combined(base, ours, disk) {
  const lines = linesOf(base)
  const [ourEdits, theirEdits] = [edits(base, ours), edits(base, disk)]
  /** @type {string[]} */
  const out = []
  for (let at = 0; at <= lines.length; at++) {
    const added = theirEdits.added[at] ?? []
    const numbers = new Set(added.map(numberOf).filter(Boolean))
    out.push(...added)
    for (const line of ourEdits.added[at] ?? [])
      if (!added.includes(line)) out.push(numbers.has(numberOf(line)) ? line.replace(/[ \t]+\^m\d+/, "") : line)
    if (at < lines.length && !ourEdits.gone.has(at) && !theirEdits.gone.has(at)) out.push(lines[at])
  }
  return out.map((line, at) => (at < out.length - 1 && !line.endsWith("\n") ? `${line}\n` : line)).join("")
}

/** @param {string} line */
function numberOf(line) {
  return NUMBER.exec(line.trimEnd())?.[1] ?? ""
}

/**
 * The lines that an edit removed from a text, and those it inserted before each line.
 * @param {string} base
 * @param {string} text
 */
function edits(base, text) {
  /** @type {Record<number, string[]>} */
  const added = {}
  /** @type {Set<number>} */
  const gone = new Set()
  let [at, start] = [0, 0]
  for (const { kind, text: line } of lineDiff(base, text)) {
    if (kind === "new") added[start] = [...(added[start] ?? []), line]
    else if (kind === "gone") gone.add(at++)
    else start = ++at
  }
  return { added, gone }
}

/** The generated index, and the notes of the operator below it. @param {string} text */
export function split(text) {
  const at = text.search(NOTES)
  return at < 0
    ? { head: text, notes: "" }
    : { head: text.slice(0, at), notes: text.slice(at).replace(NOTES, "").trim() }
}

/** @param {string} head @param {string} notes */
export function joined(head, notes) {
  return notes.trim() ? `${head.trimEnd()}\n\n## Notes\n\n${notes.trim()}\n` : `${head.trimEnd()}\n`
}
