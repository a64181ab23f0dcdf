import { THRESHOLD } from "../../../generated/values.js"
import { confidence } from "../../shared/format/format.js"
import { isEffective } from "../../shared/format/history.js"
import { t } from "../../shared/texts/index.js"

/** @typedef {"keep_old" | "keep_new" | "reword" | "both" | "merge" | "dismiss"} Resolution */
/** @typedef {{resolution: Resolution, key: string, verb: string, then: string, form: boolean}} Way */

export const KEYS = { keep_old: "d", keep_new: "a", reword: "e", both: "c", merge: "m", dismiss: "s" }
const VERBS = {
  keep_old: t("review.keep_old"),
  keep_new: t("review.keep_new"),
  reword: t("review.reword"),
  both: t("review.both"),
  merge: t("review.merge"),
  dismiss: t("review.dismiss"),
}

/**
 * The confidence that the old memory lost by the contradiction, and whether it has regained it, as far as its history
 * shows.
 * @param {Review} review @param {HistoryEntry[]} history newest first
 */
export function lossOf({ session_id: session, created_at: at }, history) {
  const entry = history.find(
    (entry) =>
      entry.cause === "contradicted" && entry.session_id === session && entry.at === at && entry.before && entry.after,
  )
  if (!entry?.before || !entry.after) return null
  return { from: entry.before.confidence, to: entry.after.confidence, back: !isEffective(entry, history) }
}

/** @typedef {ReturnType<typeof lossOf>} Loss */

/** The confidence of the old memory with the loss restored. @param {Memory} oldMemory @param {Loss} loss */
export function givenBack(oldMemory, loss) {
  if (!loss || loss.back) return oldMemory.confidence
  return Math.round(100 * Math.min(1, oldMemory.confidence + loss.from - loss.to)) / 100
}

/** The five ways to resolve a case, each with its effect. @param {Review} review @param {Loss} loss @returns {Way[]} */
export function waysOf({ kind, old: oldMemory, new: newMemory }, loss) {
  if (!oldMemory || !newMemory) return []
  if (kind === "verification") return waysOfFailed(oldMemory)
  if (kind === "file") return waysOfFile(oldMemory)
  if (kind === "relationship") return waysOfRelationship()
  const [oldName, newName] = [t("review.the_old_memory"), t("review.the_new_memory")]
  const restored = returns(oldName, oldMemory, givenBack(oldMemory, loss))
  const highest = Math.max(givenBack(oldMemory, loss), newMemory.confidence)
  return [
    way("keep_new", `${stays(newName, newMemory)} ${leaves(oldName)}`),
    way("keep_old", `${restored} ${leaves(newName)}`),
    way("reword", `${t("review.new_gets_your_text")} ${leaves(oldName)}`, true),
    way("both", `${t("review.included_with_scope")} ${restored}`, true),
    way("merge", `${t("review.gets_your_text", { at: confidence(highest) })} ${leaves(newName)}`, true),
    way("dismiss", `${stays(oldName, oldMemory)} ${stays(newName, newMemory)}`),
  ]
}

/** A memory that a source refutes: it is retained, corrected or set aside. @param {Memory} memory @returns {Way[]} */
function waysOfFailed(memory) {
  const who = t("review.the_memory")
  return [
    { ...way("keep_old", `${stays(who, memory)} ${t("review.not_raised_again")}`), verb: t("review.keep_memory") },
    { ...way("reword", t("review.memory_gets_your_text"), true), verb: t("review.correct_text") },
    { ...way("keep_new", leaves(who)), verb: t("review.set_aside") },
  ]
}

/**
 * A file of a directory and its memory both changed: one of the texts is used, or a third one.
 * @param {Memory} memory
 * @returns {Way[]}
 */
function waysOfFile(memory) {
  return [
    { ...way("keep_new", t("review.memory_gets_file_text")), verb: t("review.use_file") },
    { ...way("keep_old", stays(t("review.the_memory"), memory)), verb: t("review.keep_memory") },
    { ...way("reword", t("review.memory_gets_your_text"), true), verb: t("review.combine_texts") },
  ]
}

/** A relationship that a model found in a memory: a person confirms it for the graph. @returns {Way[]} */
function waysOfRelationship() {
  return [
    { ...way("keep_new", t("review.graph_gets_it")), verb: t("review.confirm_relationship") },
    { ...way("keep_old", t("review.not_proposed_again")), verb: t("review.reject_relationship") },
  ]
}

/** @param {Resolution} resolution @param {string} outcome @param {boolean} [form] @returns {Way} */
function way(resolution, outcome, form = false) {
  return { resolution, key: KEYS[resolution], verb: VERBS[resolution], then: outcome, form }
}

/** @param {string} subject @param {Memory} memory */
function stays(subject, { confidence: value, active }) {
  return t(active ? "review.stays_at" : "review.stays_inactive", { who: subject, at: confidence(value) })
}

/** @param {string} subject */
function leaves(subject) {
  return t("review.becomes_inactive", { who: subject })
}

/** @param {string} subject @param {Memory} memory @param {number} value */
function returns(subject, memory, value) {
  if (value === memory.confidence) return stays(subject, memory)
  const becomesActive = !memory.active && value >= THRESHOLD
  const values = { who: subject, from: confidence(memory.confidence), to: confidence(value) }
  return t(becomesActive ? "review.returns_active" : "review.returns", values)
}

/** A text as it reads within a scope. @param {string} text @param {string} scope */
export function scoped(text, scope) {
  return scope.trim() ? `${text} (${scope.trim()})` : text
}

/** The person who decided. @param {Review} review */
export function deciderWords({ resolved_by: decider }) {
  if (!decider || decider === "deletion") return ""
  return decider === "operator" ? t("review.by_a_person") : t("review.by_name", { by: decider })
}

/** The kind of a case. @param {Review} review */
export function kindWords({ kind }) {
  if (kind === "fact") return t("review.contradicting_fact")
  if (kind === "verification") return t("review.failed_verification")
  if (kind === "file") return t("review.changed_file")
  if (kind === "relationship") return t("review.proposed_relationship")
  return kind === "conflict" ? t("review.contradiction") : t("review.possible_contradiction")
}

/** The confidence that the old memory has lost so far. @param {Review} review @param {Loss} loss */
export function lossWords({ kind, old: oldMemory }, loss) {
  if (!oldMemory || ["verification", "file", "relationship"].includes(kind)) return ""
  if (kind !== "conflict") return t("review.lost_nothing")
  if (!loss) return t("review.lost_some")
  const becameInactive = loss.to < THRESHOLD && !oldMemory.active
  const values = { by: confidence(loss.from - loss.to), from: confidence(loss.from), to: confidence(loss.to) }
  return t(loss.back ? "review.lost_and_restored" : becameInactive ? "review.lost_and_fell" : "review.lost", values)
}
