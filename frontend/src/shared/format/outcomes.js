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
    (each) =>
      each.cause === "contradicted" && each.session_id === session && each.at === at && each.before && each.after,
  )
  if (!entry?.before || !entry.after) return null
  return { from: entry.before.confidence, to: entry.after.confidence, back: !isEffective(entry, history) }
}

/** @typedef {ReturnType<typeof lossOf>} Loss */

/** The confidence of the old memory with the loss restored. @param {Memory} old @param {Loss} loss */
export function givenBack(old, loss) {
  if (!loss || loss.back) return old.confidence
  return Math.round(100 * Math.min(1, old.confidence + loss.from - loss.to)) / 100
}

/** The five ways to resolve a case, each with its effect. @param {Review} review @param {Loss} loss @returns {Way[]} */
export function waysOf({ kind, old, new: fresh }, loss) {
  if (!old || !fresh) return []
  if (kind === "verification") return waysOfFailed(old)
  if (kind === "file") return waysOfFile(old)
  if (kind === "relationship") return waysOfRelationship()
  const [older, newer] = [t("common.the_old_memory"), t("common.the_new_memory")]
  const back = returns(older, old, givenBack(old, loss))
  const top = Math.max(givenBack(old, loss), fresh.confidence)
  return [
    way("keep_new", `${stays(newer, fresh)} ${leaves(older)}`),
    way("keep_old", `${back} ${leaves(newer)}`),
    way("reword", `${t("common.new_gets_your_text")} ${leaves(older)}`, true),
    way("both", `${t("common.included_with_scope")} ${back}`, true),
    way("merge", `${t("common.gets_your_text", { at: confidence(top) })} ${leaves(newer)}`, true),
    way("dismiss", `${stays(older, old)} ${stays(newer, fresh)}`),
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

/** @param {Resolution} resolution @param {string} then @param {boolean} [form] @returns {Way} */
function way(resolution, then, form = false) {
  return { resolution, key: KEYS[resolution], verb: VERBS[resolution], then, form }
}

/** @param {string} who @param {Memory} memory */
function stays(who, { confidence: is, active }) {
  return t(active ? "common.stays_at" : "common.stays_inactive", { who, at: confidence(is) })
}

/** @param {string} who */
function leaves(who) {
  return t("common.becomes_inactive", { who })
}

/** @param {string} who @param {Memory} memory @param {number} value */
function returns(who, memory, value) {
  if (value === memory.confidence) return stays(who, memory)
  const again = !memory.active && value >= THRESHOLD
  const values = { who, from: confidence(memory.confidence), to: confidence(value) }
  return t(again ? "common.returns_active" : "common.returns", values)
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
export function deciderWords({ resolved_by: by }) {
  if (!by || by === "deletion") return ""
  return by === "operator" ? t("common.by_a_person") : t("common.by_name", { by })
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
  const what = REPORTS.get(cause) ?? cause.replaceAll("_", " ")
  return session ? t("common.by_session", { what }) : t("common.by_person", { what })
}

/** The confidence that the old memory has lost so far. @param {Review} review @param {Loss} loss */
export function lossWords({ kind, old }, loss) {
  if (!old || ["verification", "file", "relationship"].includes(kind)) return ""
  if (kind !== "conflict") return t("common.lost_nothing")
  if (!loss) return t("common.lost_some")
  const fell = loss.to < THRESHOLD && !old.active
  const values = { by: confidence(loss.from - loss.to), from: confidence(loss.from), to: confidence(loss.to) }
  return t(loss.back ? "common.lost_and_restored" : fell ? "common.lost_and_fell" : "common.lost", values)
}
