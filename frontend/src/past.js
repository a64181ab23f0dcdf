import { briefly, wordDiff } from "./diff.js"
import { confidence, serviceName } from "./format.js"

const CAUSES = new Map([
  ["review", "settled in a review"],
  ["undone", "taken back"],
])
const WORDS = new Map([
  ["superseded", "turned inactive: superseded"],
  ["operator", "turned inactive: set by a person"],
  ["low", "turned inactive: below 0.30"],
])

/** One line of a memory's history. @param {HistoryEntry} entry */
export function historyWords({ cause, actor, session_id: session, reason, before, after }) {
  const by = session ? `by session #${session}` : actor === "operator" ? "by hand" : `by the ${actor}`
  const back = backWords(reason)
  const word = cause === "undone" && back ? `took back ${back}` : causeOf(cause)
  const [, rest = ""] = /^undoes [^;]+; (.*)$/.exec(reason) ?? []
  const why = back ? (cause === "undone" ? rest : `takes back ${back}`) : reason
  const moved =
    before && after && before.confidence !== after.confidence
      ? `, ${confidence(before.confidence)} → ${confidence(after.confidence)}`
      : ""
  return `${word.charAt(0).toUpperCase()}${word.slice(1)} ${by}${moved}${why && `: ${why}`}`
}

/** Which step an undo is of, as one reads it. @param {string} reason */
function backWords(reason) {
  const [, cause, version] = /^undoes (\w+) of version (\d+)(?:; |$)/.exec(reason) ?? []
  return version ? `version ${version} (${causeOf(cause)})` : ""
}

/** @param {string} cause */
function causeOf(cause) {
  return CAUSES.get(cause) ?? cause.replaceAll("_", " ")
}

const UNDOING = ["undone", "review"]

/** The step that took a step back. @param {HistoryEntry} step @param {HistoryEntry[]} history */
export function undoOf({ id, cause, version }, history) {
  const reason = `undoes ${cause} of version ${version}`
  return history.find((each) => each.id > id && UNDOING.includes(each.cause) && each.reason.split(";")[0] === reason)
}

/** Does a step still count? It was not undone, or its undo was. @param {HistoryEntry} step @param {HistoryEntry[]} history @returns {boolean} */
export function inForce(step, history) {
  const undo = undoOf(step, history)
  return !undo || !inForce(undo, history)
}

/** What became of the text, word by word; nothing where it stayed. @param {HistoryEntry} entry */
export function textChange({ before, after }) {
  if (!before || !after || before.observation === after.observation) return []
  return briefly(wordDiff(before.observation, after.observation))
}

/** What else a step changed, beyond the text and the confidence. @param {HistoryEntry} entry */
export function otherChanges({ before, after }) {
  if (!before || !after) return ""
  return [
    moved("category", before.category, after.category),
    before.service === after.service
      ? ""
      : moved("service", serviceName(before.service ?? null), serviceName(after.service ?? null)),
    moved("trust", before.trust, after.trust),
    before.pinned === after.pinned ? "" : after.pinned ? "pinned" : "no longer pinned",
    activity(before, after),
  ]
    .filter(Boolean)
    .join(" · ")
}

/** @param {string} name @param {string | undefined} before @param {string | undefined} after */
function moved(name, before, after) {
  return before === after || !before || !after ? "" : `${name} ${before} → ${after}`
}

/** @param {MemoryState} before @param {MemoryState} after */
function activity(before, after) {
  if (before.active === after.active) return ""
  return after.active ? "active again" : (WORDS.get(after.inactive_reason ?? "") ?? "turned inactive")
}
