import { THRESHOLD, confidence } from "./format.js"
import { inForce } from "./past.js"

/** @typedef {"keep_old" | "keep_new" | "reword" | "both" | "merge" | "dismiss"} Resolution */
/** @typedef {{resolution: Resolution, key: string, verb: string, then: string, form: boolean}} Way */

export const KEYS = { keep_old: "d", keep_new: "a", reword: "e", both: "c", merge: "m", dismiss: "s" }
const VERBS = {
  keep_old: "Keep the old one",
  keep_new: "Keep the new one",
  reword: "Keep it, reworded",
  both: "Both are true",
  merge: "Merge them",
  dismiss: "Dismiss",
}
const DECIDED = new Map([
  ["keep_old", "The old one was kept."],
  ["keep_new", "The new one was kept."],
  ["both", "Both are true, each within its scope."],
  ["merge", "They were merged into one."],
  ["dismiss", "It was dismissed: both stayed as they were."],
  ["gone", "One of the two was deleted."],
])

/**
 * What the old one lost when it was contradicted, and whether it has it back already, as far as its history still
 * tells. @param {Review} review @param {HistoryEntry[]} history newest first
 */
export function lossOf({ session_id: session, created_at: at }, history) {
  const entry = history.find(
    (each) =>
      each.cause === "contradicted" && each.session_id === session && each.at === at && each.before && each.after,
  )
  if (!entry?.before || !entry.after) return null
  return { from: entry.before.confidence, to: entry.after.confidence, back: !inForce(entry, history) }
}

/** @typedef {ReturnType<typeof lossOf>} Loss */

/** The confidence of the old one once it has back what this took. @param {Memory} old @param {Loss} loss */
export function givenBack(old, loss) {
  if (!loss || loss.back) return old.confidence
  return Math.round(100 * Math.min(1, old.confidence + loss.from - loss.to)) / 100
}

/** The five ways to settle a case, each with what it will do. @param {Review} review @param {Loss} loss @returns {Way[]} */
export function waysOf({ old, new: fresh }, loss) {
  if (!old || !fresh) return []
  const back = returns("The old one", old, givenBack(old, loss))
  const top = Math.max(givenBack(old, loss), fresh.confidence)
  return [
    way("keep_new", `${stays("The new one", fresh)} ${leaves("The old one")}`),
    way("keep_old", `${back} ${leaves("The new one")}`),
    way("reword", `The new one says what you write. ${leaves("The old one")}`, true),
    way("both", `Each is told with the scope you name. ${back}`, true),
    way("merge", `The old one says what you write, at ${confidence(top)}. ${leaves("The new one")}`, true),
    way("dismiss", `${stays("The old one", old)} ${stays("The new one", fresh)}`),
  ]
}

/** @param {Resolution} resolution @param {string} then @param {boolean} [form] @returns {Way} */
function way(resolution, then, form = false) {
  return { resolution, key: KEYS[resolution], verb: VERBS[resolution], then, form }
}

/** @param {string} who @param {Memory} memory */
function stays(who, { confidence: is, active }) {
  return `${who} stays at ${confidence(is)}${active ? "" : ", inactive"}.`
}

/** @param {string} who */
function leaves(who) {
  return `${who} becomes inactive: no session reads it.`
}

/** @param {string} who @param {Memory} memory @param {number} value */
function returns(who, memory, value) {
  if (value === memory.confidence) return stays(who, memory)
  const again = !memory.active && value >= THRESHOLD ? " and is told again" : ""
  return `${who} goes back from ${confidence(memory.confidence)} to ${confidence(value)}${again}.`
}

/** A text as it will read within a scope. @param {string} text @param {string} scope */
export function scoped(text, scope) {
  return scope.trim() ? `${text} (${scope.trim()})` : text
}

/** What was decided, in a sentence. @param {Review} review */
export function decidedWords({ resolution }) {
  return DECIDED.get(resolution ?? "") ?? ""
}

/** Who decided. @param {Review} review */
export function deciderWords({ resolved_by: by }) {
  if (!by || by === "deletion") return ""
  return by === "operator" ? "by a person," : `by ${by},`
}

/** Why the two do not go together, as a sentence. @param {Review} review */
export function whyWords({ reason }) {
  return /^[a-z]/.test(reason) ? `The new one ${reason}.` : reason
}

/** What kind of case it is. @param {Review} review */
export function kindWords({ kind }) {
  return kind === "conflict" ? "contradiction" : "possible contradiction"
}

const SAID = new Map([
  ["learned", "first said"],
  ["created", "written"],
  ["reinforced", "said again"],
  ["contradicted", "contradicted"],
])

/** How somebody came to say it. @param {Said} said */
export function saidWords({ cause, session_id: session }) {
  return `${SAID.get(cause) ?? cause.replaceAll("_", " ")} by ${session ? "session" : "hand"}`
}

/** What it has cost the old one so far. @param {Review} review @param {Loss} loss */
export function lossWords({ kind, old }, loss) {
  if (!old) return ""
  if (kind === "possible") return "It lost nothing: nobody is sure that the two contradict each other."
  if (!loss) return "It lost 0.20 for this."
  const fell = loss.to < THRESHOLD && !old.active ? ", and turned inactive" : ""
  const lost = `It lost ${confidence(loss.from - loss.to)} for this: ${confidence(loss.from)} → ${confidence(loss.to)}`
  return loss.back ? `${lost}. It has that back.` : `${lost}${fell}.`
}
