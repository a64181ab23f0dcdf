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
    const more = linesOf({ ...item, usage: null })
    if (FOLDED.includes(item.kind)) fold(asked(lines, item.kind) ?? more[0], more)
    for (const line of more) lines.push(line)
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
  const same = item.usage?.turn && turn?.usage?.turn === item.usage.turn ? turn : undefined
  const found = item.usage?.turn ? blockTurn(item, lines, same) : { text: turnWords(item, lines) }
  if (same) {
    Object.assign(same, found)
    return
  }
  const above = lines.findLastIndex((line) => !OF_TURN.includes(line.kind)) + 1
  lines.splice(above, 0, ...linesOf({ ...item, ...found }))
}

/** The tool call directly before a result. @param {Line[]} lines @param {string} kind */
function asked(lines, kind) {
  const last = lines[lines.length - 1]
  if (kind === "tool" || last?.kind !== "tool") return null
  return last.head || !last.fold ? last : (lines.findLast((line) => line.key === last.fold) ?? null)
}

/** @param {Line} head @param {Line[]} lines */
function fold(head, lines) {
  const behind = lines.filter((line) => line !== head)
  if (!behind.length) return
  head.head = true
  head.fold = head.key
  head.behind += behind.length
  head.failed ||= behind.some(({ kind }) => kind === "error")
  for (const line of behind) line.fold = head.key
  if (behind[0].kind !== head.kind && head.at && behind[0].at)
    head.took = Date.parse(behind[0].at) - Date.parse(head.at)
}

/** Whether a line is visible. @param {Line} line @param {Set<string>} opened */
export function isShown({ fold, head }, opened) {
  return !fold || head || opened.has(fold)
}
