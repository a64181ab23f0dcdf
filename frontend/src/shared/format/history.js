import { briefly, wordDiff } from "./diff.js"
import { confidence, exact, serviceName } from "./format.js"
import { t } from "../texts/index.js"

const CAUSES = new Map([
  ["learned", t("memory.did_learned")],
  ["created", t("memory.did_created")],
  ["reinforced", t("memory.did_reinforced")],
  ["contradicted", t("memory.did_contradicted")],
  ["faded", t("memory.did_faded")],
  ["revised", t("memory.did_revised")],
  ["edited", t("memory.did_edited")],
  ["deleted", t("memory.did_deleted")],
  ["confirmed", t("memory.did_confirmed")],
  ["review", t("memory.did_review")],
  ["undone", t("memory.did_undone")],
  ["compressed", t("memory.did_compressed")],
  ["repeated", t("memory.did_repeated")],
])
const INACTIVE = new Map([
  ["superseded", t("memory.inactive_superseded")],
  ["operator", t("memory.inactive_operator")],
  ["low", t("memory.inactive_low")],
  ["deleted", t("memory.inactive_deleted")],
])

/**
 * One line of a memory's history; `unnamed`: the session is shown beside the line.
 * @param {HistoryEntry} entry
 * @param {{unnamed?: boolean}} [how]
 */
export function historyWords({ cause, actor, session_id: session, reason, before, after }, { unnamed = false } = {}) {
  const undoneStep = backWords(reason)
  const isUndo = cause === "undone" && Boolean(undoneStep)
  const what = capital(isUndo ? t("memory.reverted", { step: undoneStep }) : causeOf(cause))
  const [, rest = ""] = /^undoes [^;]+; (.*)$/.exec(reason) ?? []
  const why = isUndo ? rest : undoneStep ? t("memory.reverts", { step: undoneStep }) : reason
  const step = unnamed && actor === "session" ? what : t("memory.step", { what, by: byWords(actor, session) })
  const isMoved = before && after && before.confidence !== after.confidence
  const values = isMoved ? { step, was: confidence(before.confidence), is: confidence(after.confidence) } : null
  const sentence = values ? t("memory.step_moved", values) : step
  return why ? t("memory.step_why", { step: sentence, why }) : sentence
}

/** @param {string} actor @param {number | null | undefined} session */
function byWords(actor, session) {
  if (session) return t("memory.by_session", { id: String(session) })
  if (actor === "operator") return t("memory.by_person")
  return actor === "supervisor" ? t("memory.by_supervisor") : t("memory.by_actor", { actor })
}

/** @param {string} text */
function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** The step that an undo reverted, as text. @param {string} reason */
function backWords(reason) {
  const [, cause, n] = /^undoes (\w+) of version (\d+)(?:; |$)/.exec(reason) ?? []
  return n ? t("memory.step_of", { n, cause: causeOf(cause) }) : ""
}

/** @param {string} cause */
function causeOf(cause) {
  return CAUSES.get(cause) ?? cause.replaceAll("_", " ")
}

const UNDOING = ["undone", "review"]

/** The step that reverted a step. @param {HistoryEntry} step @param {HistoryEntry[]} history */
export function undoOf({ id, cause, version }, history) {
  const reason = `undoes ${cause} of version ${version}`
  return history.find(
    (candidate) => candidate.id > id && UNDOING.includes(candidate.cause) && candidate.reason.split(";")[0] === reason,
  )
}

/**
 * Whether a step still counts: it was not undone, or its undo was.
 * @param {HistoryEntry} step
 * @param {HistoryEntry[]} history
 * @returns {boolean}
 */
export function isEffective(step, history) {
  const undo = undoOf(step, history)
  return !undo || !isEffective(undo, history)
}

/** The changes of the text, word by word; nothing if it is unchanged. @param {HistoryEntry} entry */
export function textChange({ before, after }) {
  if (!before || !after || before.observation === after.observation) return []
  return briefly(wordDiff(before.observation, after.observation))
}

/** Other changes of a step, beyond the text and the confidence. @param {HistoryEntry} entry */
export function otherChanges({ before, after }) {
  if (!before || !after) return ""
  return [
    moveText("title", before.title, after.title),
    moveText("category", before.category, after.category),
    before.service === after.service
      ? ""
      : moveText("service", serviceName(before.service ?? null), serviceName(after.service ?? null)),
    moveText("project", before.project, after.project),
    moveText("scope", before.scope, after.scope),
    changeText("topic_key", before.topic_key, after.topic_key),
    changeText("tags", before.tags?.join(", "), after.tags?.join(", ")),
    changeText("metadata", pairs(before.metadata), pairs(after.metadata)),
    changeText("expiry", moment(before.expires_at), moment(after.expires_at)),
    moveText("trust", before.trust, after.trust),
    before.pinned === after.pinned ? "" : t(after.pinned ? "memory.is_pinned" : "memory.not_pinned"),
    activity(before, after),
  ]
    .filter(Boolean)
    .join(" · ")
}

/** Metadata on one line: `env: prod, ports: [80,443]`. @param {Record<string, unknown> | undefined} metadata */
export function pairs(metadata) {
  const textOf = (/** @type {unknown} */ value) => (typeof value === "string" ? value : JSON.stringify(value))
  return (
    metadata &&
    Object.entries(metadata)
      .map(([key, value]) => `${key}: ${textOf(value)}`)
      .join(", ")
  )
}

/** @param {string | null | undefined} at */
function moment(at) {
  return at ? exact(at) : at
}

/**
 * A field that may be empty, but whose state is recorded on both sides.
 * @param {"topic_key" | "tags" | "metadata" | "expiry"} name
 * @param {string | null | undefined} oldValue
 * @param {string | null | undefined} newValue
 */
function changeText(name, oldValue, newValue) {
  if (oldValue === undefined || newValue === undefined || oldValue === newValue) return ""
  return t(`memory.moved_${name}`, { was: oldValue || t("memory.none"), is: newValue || t("memory.none") })
}

/** @param {"title" | "category" | "service" | "project" | "scope" | "trust"} name @param {string | undefined} oldValue @param {string | undefined} newValue */
function moveText(name, oldValue, newValue) {
  return oldValue === newValue || !oldValue || !newValue
    ? ""
    : t(`memory.moved_${name}`, { was: oldValue, is: newValue })
}

/** @param {MemoryState} before @param {MemoryState} after */
function activity(before, after) {
  if (before.active === after.active) return ""
  if (after.active) return t("memory.is_active")
  return INACTIVE.get(after.inactive_reason ?? "") ?? t("memory.is_inactive")
}
