import { THRESHOLD } from "../../../generated/values.js"
import { confidence } from "./format.js"
import { isEffective } from "./history.js"
import { t } from "../texts/index.js"

/** @typedef {"keep_old" | "keep_new" | "reword" | "both" | "merge" | "dismiss"} Resolution */
/** @typedef {{resolution: Resolution, key: string, verb: string, then: string, form: boolean}} Way */

export const KEYS = { keep_old: "d", keep_new: "a", reword: "e", both: "c", merge: "m", dismiss: "s" }
const VERBS = {
  keep_old: t("app.review_keep_old"),
  keep_new: t("app.review_keep_new"),
  reword: t("app.review_reword"),
  both: t("app.review_both"),
  merge: t("app.review_merge"),
  dismiss: t("app.review_dismiss"),
}
const DECIDED = new Map([
  ["keep_old", t("common.decided_keep_old")],
  ["keep_new", t("common.decided_keep_new")],
  ["both", t("common.decided_both")],
  ["merge", t("common.decided_merge")],
  ["dismiss", t("common.decided_dismiss")],
  ["gone", t("common.decided_gone")],
])

const RELATED = new Map([
  ["keep_new", t("common.decided_confirmed")],
  ["keep_old", t("common.decided_rejected")],
  ["dismiss", t("common.decided_rejected")],
  ["gone", t("common.decided_withdrawn")],
])

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
  const [oldName, newName] = [t("common.the_old_memory"), t("common.the_new_memory")]
  const restored = returns(oldName, oldMemory, givenBack(oldMemory, loss))
  const highest = Math.max(givenBack(oldMemory, loss), newMemory.confidence)
  return [
    way("keep_new", `${stays(newName, newMemory)} ${leaves(oldName)}`),
    way("keep_old", `${restored} ${leaves(newName)}`),
    way("reword", `${t("common.new_gets_your_text")} ${leaves(oldName)}`, true),
    way("both", `${t("common.included_with_scope")} ${restored}`, true),
    way("merge", `${t("common.gets_your_text", { at: confidence(highest) })} ${leaves(newName)}`, true),
    way("dismiss", `${stays(oldName, oldMemory)} ${stays(newName, newMemory)}`),
  ]
}

/** A memory that a source refutes: it is retained, corrected or set aside. @param {Memory} memory @returns {Way[]} */
function waysOfFailed(memory) {
  const who = t("common.the_memory")
  return [
    { ...way("keep_old", `${stays(who, memory)} ${t("common.not_raised_again")}`), verb: t("common.keep_memory") },
    { ...way("reword", t("common.memory_gets_your_text"), true), verb: t("common.correct_text") },
    { ...way("keep_new", leaves(who)), verb: t("common.set_aside") },
  ]
}

/**
 * A file of a directory and its memory both changed: one of the texts is used, or a third one.
 * @param {Memory} memory
 * @returns {Way[]}
 */
function waysOfFile(memory) {
  return [
    { ...way("keep_new", t("common.memory_gets_file_text")), verb: t("common.use_file") },
    { ...way("keep_old", stays(t("common.the_memory"), memory)), verb: t("common.keep_memory") },
    { ...way("reword", t("common.memory_gets_your_text"), true), verb: t("common.combine_texts") },
  ]
}

/** A relationship that a model found in a memory: a person confirms it for the graph. @returns {Way[]} */
function waysOfRelationship() {
  return [
    { ...way("keep_new", t("common.graph_gets_it")), verb: t("common.confirm_relationship") },
    { ...way("keep_old", t("common.not_proposed_again")), verb: t("common.reject_relationship") },
  ]
}

/** @param {Resolution} resolution @param {string} outcome @param {boolean} [form] @returns {Way} */
function way(resolution, outcome, form = false) {
  return { resolution, key: KEYS[resolution], verb: VERBS[resolution], then: outcome, form }
}

/** @param {string} subject @param {Memory} memory */
function stays(subject, { confidence: value, active }) {
  return t(active ? "common.stays_at" : "common.stays_inactive", { who: subject, at: confidence(value) })
}

/** @param {string} subject */
function leaves(subject) {
  return t("common.becomes_inactive", { who: subject })
}

/** @param {string} subject @param {Memory} memory @param {number} value */
function returns(subject, memory, value) {
  if (value === memory.confidence) return stays(subject, memory)
  const becomesActive = !memory.active && value >= THRESHOLD
  const values = { who: subject, from: confidence(memory.confidence), to: confidence(value) }
  return t(becomesActive ? "common.returns_active" : "common.returns", values)
}

/** A text as it reads within a scope. @param {string} text @param {string} scope */
export function scoped(text, scope) {
  return scope.trim() ? `${text} (${scope.trim()})` : text
}

/** The decision, in a sentence. @param {Review} review */
export function decidedWords({ kind, resolution }) {
  if (kind === "file") return t(resolution === "keep_new" ? "common.decided_file" : "common.decided_memory")
  if (kind === "relationship") return RELATED.get(resolution ?? "") ?? ""
  return DECIDED.get(resolution ?? "") ?? ""
}

/** The person who decided. @param {Review} review */
export function deciderWords({ resolved_by: decider }) {
  if (!decider || decider === "deletion") return ""
  return decider === "operator" ? t("common.by_a_person") : t("common.by_name", { by: decider })
}

/** The reason for the conflict, as a sentence. @param {Review} review */
export function whyWords({ reason }) {
  if (!/^[a-z\d]/.test(reason)) return reason
  const difference = reason.replace("may conflict: ", "").replace(/^(.+) instead of (.+)$/, "“$1” instead of “$2”")
  return t("common.difference", { reason: difference })
}

/** The kind of a case. @param {Review} review */
export function kindWords({ kind }) {
  if (kind === "fact") return t("common.contradicting_fact")
  if (kind === "verification") return t("common.failed_verification")
  if (kind === "file") return t("common.changed_file")
  if (kind === "relationship") return t("common.proposed_relationship")
  return kind === "conflict" ? t("common.contradiction") : t("common.possible_contradiction")
}

const REPORTS = new Map([
  ["learned", t("common.reported_first")],
  ["created", t("common.reported_manually")],
  ["reinforced", t("common.reported_again")],
  ["contradicted", t("common.reported_contradiction")],
])

/**
 * How a memory came to be reported, or that the organizer extracted it from an episode.
 * @param {ReportSource & {extracted?: boolean}} said
 */
export function reportWords({ cause, session_id: session, extracted }) {
  if (extracted) return t("common.reported_by_organizer")
  const reportText = REPORTS.get(cause) ?? cause.replaceAll("_", " ")
  return session ? t("common.by_session", { what: reportText }) : t("common.by_person", { what: reportText })
}

/** The confidence that the old memory has lost so far. @param {Review} review @param {Loss} loss */
export function lossWords({ kind, old: oldMemory }, loss) {
  if (!oldMemory || ["verification", "file", "relationship"].includes(kind)) return ""
  if (kind !== "conflict") return t("common.lost_nothing")
  if (!loss) return t("common.lost_some")
  const becameInactive = loss.to < THRESHOLD && !oldMemory.active
  const values = { by: confidence(loss.from - loss.to), from: confidence(loss.from), to: confidence(loss.to) }
  return t(loss.back ? "common.lost_and_restored" : becameInactive ? "common.lost_and_fell" : "common.lost", values)
}
