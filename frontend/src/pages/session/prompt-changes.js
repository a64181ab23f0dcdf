import { wordDiff } from "../../shared/format/diff.js"

/**
 * The updates of a session's prompt, turn by turn, each with the text that it replaced.
 * @param {string} firstPrompt the prompt at its start @param {PromptUpdate[]} updates oldest first
 */
export function turnsOf(firstPrompt, updates) {
  return updates.map((update, at) => ({
    ...update,
    key: at,
    turn: at + 1,
    before: at ? updates[at - 1].injected : firstPrompt,
    included: update.memories.filter(({ position }) => position !== null).length,
  }))
}

/** @typedef {{key: number, kind: "same" | "gone" | "new", text: string, parts: import("../../shared/format/diff.js").Part[]}} Line */

/** Removed and added lines; unchanged lines are only counted. @param {string} before @param {string} after */
export function changedLines(before, after) {
  const [oldLines, newLines] = [before, after].map((text) => text.split("\n").filter((line) => line.trim()))
  const [oldSet, newSet] = [new Set(oldLines), new Set(newLines)]
  const gone = oldLines.filter((line) => !newSet.has(line))
  const come = newLines.filter((line) => !oldSet.has(line))
  return { gone, come, stayed: newLines.length - come.length, moved: !gone.length && !come.length && before !== after }
}

/**
 * A removed line and the line that replaced it become one, with word differences.
 * @param {{gone: string[], come: string[]}} lines
 */
export function paired({ gone, come }) {
  const unpaired = [...gone]
  const lines = come.map((line) => {
    const at = unpaired.findIndex((candidate) => alike(candidate, line))
    const [oldLine] = at < 0 ? [] : unpaired.splice(at, 1)
    return oldLine === undefined ? [{ kind: /** @type {const} */ ("new"), text: line }] : wordDiff(oldLine, line)
  })
  const removedParts = unpaired.map((text) => [{ kind: /** @type {const} */ ("gone"), text }])
  return [...removedParts, ...lines].map((parts, key) => ({ key, parts }))
}

/**
 * Whether two lines begin with the same words, so that one replaces the other.
 * @param {string} left
 * @param {string} right
 */
function alike(left, right) {
  const firstWords = (/** @type {string} */ line) => line.split(/\s+/).slice(0, 4).join(" ")
  return firstWords(left) === firstWords(right)
}
