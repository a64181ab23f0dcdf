/**
 * One line of an output. The input and the result of a tool are folded behind their first line: `fold` is the key of
 * that line, on the line itself (`head`) and on all lines behind it. `at` is the time it was read, `took` the duration
 * until the result in milliseconds, `usage` the usage of the session at the end of a turn.
 * @typedef {{key: string, kind: string, text: string, first: boolean, fold: string, head: boolean, behind: number,
 *   failed: boolean, at: Time | null, took: number | null, usage: LogItem["usage"]}} Line
 */
import { blockTurn, settleTurns, turnWords } from "./turns.js"

const FOLDED = ["tool", "result", "error"]
const WHOLE = ["text", "tool"]
const OF_TURN = [...WHOLE, "partial"]

/** @param {number} offset @param {number} index @param {number} line */
export function lineKey(offset, index, line) {
  return `${offset}:${index}:${line}`
}

/** @param {Pick<Marker, "offset" | "index" | "line">} marker */
export function markerKey({ offset, index, line }) {
  return lineKey(offset, index, line)
}

/** The lines of a log item; each has the address that markers refer to. @param {LogItem} item @returns {Line[]} */
export function linesOf({ offset, index, kind, text, at, usage }) {
  return text.split("\n").map((line, n) => ({
    key: lineKey(offset, index, n),
    kind,
    text: line,
    first: n === 0,
    fold: "",
    head: false,
    behind: 0,
    failed: false,
    at: at ?? null,
    took: null,
    usage: usage ?? null,
  }))
}

/**
 * Add items as lines: a tool result is placed right behind its call, and the further lines of any other item behind its
 * first line.
 * @param {Line[]} lines @param {LogItem[]} items
 */
export function addLines(lines, items) {
  for (const item of items) {
    if (FOLDED.includes(item.kind) && !item.text) continue
    // a complete response replaces its streamed parts
    while (WHOLE.includes(item.kind) && lines.at(-1)?.kind === "partial") lines.pop()
    if (item.usage && item.kind === "turn") {
      addTurn(lines, item)
      continue
    }
    if (item.usage) settleTurns(item.usage, lines)
    const newLines = linesOf({ ...item, usage: null })
    if (FOLDED.includes(item.kind)) fold(asked(lines, item.kind) ?? newLines[0], newLines)
    for (const line of newLines) lines.push(line)
  }
  return lines
}

/**
 * A turn is reported when it has ended, so its figures are placed above its lines.
 * @param {Line[]} lines
 * @param {LogItem} item
 */
function addTurn(lines, item) {
  const turn = lines.findLast((line) => line.kind === "turn")
  const existing = item.usage?.turn && turn?.usage?.turn === item.usage.turn ? turn : undefined
  const values = item.usage?.turn ? blockTurn(item, lines, existing) : { text: turnWords(item, lines) }
  if (existing) {
    Object.assign(existing, values)
    return
  }
  const index = lines.findLastIndex((line) => !OF_TURN.includes(line.kind)) + 1
  lines.splice(index, 0, ...linesOf({ ...item, ...values }))
}

/** The tool call directly before a result. @param {Line[]} lines @param {string} kind */
function asked(lines, kind) {
  const lastLine = lines[lines.length - 1]
  if (kind === "tool" || lastLine?.kind !== "tool") return null
  return lastLine.head || !lastLine.fold ? lastLine : (lines.findLast((line) => line.key === lastLine.fold) ?? null)
}

/** @param {Line} head @param {Line[]} lines */
function fold(head, lines) {
  const folded = lines.filter((line) => line !== head)
  if (!folded.length) return
  head.head = true
  head.fold = head.key
  head.behind += folded.length
  head.failed ||= folded.some(({ kind }) => kind === "error")
  for (const line of folded) line.fold = head.key
  if (folded[0].kind !== head.kind && head.at && folded[0].at)
    head.took = Date.parse(folded[0].at) - Date.parse(head.at)
}

/** Whether a line is visible. @param {Line} line @param {Set<string>} opened */
export function isShown({ fold, head }, opened) {
  return !fold || head || opened.has(fold)
}
