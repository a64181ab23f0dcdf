import { wordDiff } from "../../shared/format/diff.js"

/**
 * The updates of a session's prompt, turn by turn, each with the text that it replaced.
 * @param {string} first the prompt at its start @param {PromptUpdate[]} updates oldest first
 */
export function turnsOf(first, updates) {
  return updates.map((each, at) => ({
    ...each,
    key: at,
    turn: at + 1,
    before: at ? updates[at - 1].injected : first,
    included: each.memories.filter(({ position }) => position !== null).length,
  }))
}

/** @typedef {{key: number, kind: "same" | "gone" | "new", text: string, parts: import("../../shared/format/diff.js").Part[]}} Line */

/** Removed and added lines; unchanged lines are only counted. @param {string} before @param {string} after */
export function changedLines(before, after) {
  const [old, now] = [before, after].map((text) => text.split("\n").filter((line) => line.trim()))
  const [was, is] = [new Set(old), new Set(now)]
  const gone = old.filter((line) => !is.has(line))
  const come = now.filter((line) => !was.has(line))
  return { gone, come, stayed: now.length - come.length, moved: !gone.length && !come.length && before !== after }
}

/**
 * A removed line and the line that replaced it become one, with word differences.
 * @param {{gone: string[], come: string[]}} lines
 */
export function paired({ gone, come }) {
  const left = [...gone]
  const lines = come.map((line) => {
    const at = left.findIndex((each) => alike(each, line))
    const [old] = at < 0 ? [] : left.splice(at, 1)
    return old === undefined ? [{ kind: /** @type {const} */ ("new"), text: line }] : wordDiff(old, line)
  })
  const rest = left.map((text) => [{ kind: /** @type {const} */ ("gone"), text }])
  return [...rest, ...lines].map((parts, key) => ({ key, parts }))
}

/**
 * Whether two lines begin with the same words, so that one replaces the other.
 * @param {string} one
 * @param {string} other
 */
function alike(one, other) {
  const head = (/** @type {string} */ line) => line.split(/\s+/).slice(0, 4).join(" ")
  return head(one) === head(other)
}
