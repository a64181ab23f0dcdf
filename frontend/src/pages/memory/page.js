import { t } from "../../shared/texts/index.js"
import { NEW_MEMORY, THRESHOLD } from "../../../generated/values.js"
import { confidence, isOperational, timeAgo, tierWords } from "../../shared/format/format.js"
import { newSide, oldSide, wordDiff } from "../../shared/format/diff.js"
import { clampNote } from "../../shared/memory-form/draft.js"
import { decidedWords, reportWords } from "../../shared/format/outcomes.js"
import { historyWords, pairs } from "../../shared/format/history.js"
import { focusList } from "../../shared/directives/rows.js"
import { steps, trend } from "./trend.js"

/** The actions and texts of the memory panel. @param {(name: string) => any} store */
export function memoryPanel(store) {
  const [memory, curate, router, toasts] = ["memory", "curate", "router", "toasts"].map(store)
  const journal = store("journal")
  const { evidence } = memory
  return {
    closePanel() {
      const { id } = memory
      router.go(router.keeping(`/${router.page}`))
      focusList(id)
    },

    backWords: () => t(router.page === "search" ? "memory.back_search" : "memory.back_memories"),

    async save() {
      const { active } = memory.row
      memory.clamp()
      const note = clampNote(memory)
      if (!(await memory.save())) return
      toasts.show(`${memory.merged || savedWords(active, memory.row)} ${note}`.trim(), { undo: journal.undoing() })
    },

    /** Whether the memory can be reactivated without an edit. */
    mayReturn: () => !memory.historical && !memory.row.active && memory.row.confidence >= THRESHOLD,

    async bringBack() {
      const { id, version } = memory.row
      if (await memory.send(id, version, { active: true }))
        toasts.show(t("memory.active_again"), { undo: journal.undoing() })
    },

    mayConfirm: () => !memory.historical && memory.row.active && memory.row.trust === "unverified",
    confirmWords: () => t(memory.row.source === "owner" ? "memory.typed_unverified" : "memory.unverified"),
    confirmOpen: () => curate.confirm({ ...memory.row }),

    async deleteOpen() {
      if (!(await curate.remove({ ...memory.row }))) return
      router.go(router.keeping(`/${router.page}`))
      focusList()
    },

    missing: () => t(memory.historical ? "memory.missing_then" : "memory.missing"),
    missingWhy: () => t(memory.historical ? "memory.missing_then_why" : "memory.missing_why"),
    lineTitle: () => t(memory.historical ? "memory.line_then" : "memory.line_now"),
    memoryName: (/** @type {number} */ id) => t("memory.name", { id: String(id) }),
    sessionName: (/** @type {number} */ id) => t("memory.session", { id: String(id) }),
    reviewName: (/** @type {number} */ id) => t("memory.review", { id: String(id) }),

    whatIf: () => store("whatIf").id !== null && store("whatIf").id === memory.id,

    /** Knowledge has a title of its own; other memories are titled by their observation. */
    title: () => memory.row.title || memory.row.observation,
    knowledge: () => !isOperational(memory.row.category),
    titled: () => Boolean(memory.row.title),
    topic: () => memory.row.topic_key ?? "",
    metadata: () => pairs(memory.row.metadata) ?? "",

    /** The author: a tier, a person, or the interface that a client used. */
    source() {
      const { tier, source, session_id: session } = memory.row
      if (source === "owner") return t("memory.source_owner")
      return tier || (!session && source === "operator") ? tierWords(tier) : source
    },

    /** The project; a memory of global scope is included in every project. */
    project() {
      const { project, scope, category } = memory.row
      if (scope === "global") return t("memory.everywhere", { project })
      return isOperational(category) && project === NEW_MEMORY.project ? "" : project
    },

    /** How often clients reported the memory: in the same words, or revised under its topic key. */
    reportCount() {
      const { duplicate_count: n, revision_count: revisions, last_seen_at: lastSeen, created_at: created } = memory.row
      const times = t("memory.times", { n })
      const last = t("memory.last", { when: timeAgo(lastSeen ?? created, store("clock").now) })
      return [times, revisions > 1 ? t("memory.revised", { n: revisions - 1 }) : "", last].filter(Boolean).join(" · ")
    },

    readCount() {
      const { access_count: n, accessed_at: at } = memory.row
      if (!n) return ""
      const last = at ? t("memory.last", { when: timeAgo(at, store("clock").now) }) : ""
      return [t("memory.times", { n }), last].filter(Boolean).join(" · ")
    },

    seen() {
      const isLoading = evidence.phase === "loading" && !memory.historical && memory.row.session_id
      const n = isLoading ? 2 : evidence.said.sessions
      return n ? t("memory.reported_in", { n }) : ""
    },

    includedIn: () =>
      evidence.told.total ? t("memory.included_in", { n: evidence.told.total }) : t("memory.included_none"),

    /** Its line in the prompt; until it is loaded, the expected line reserves its space. */
    line() {
      const { category, observation, confidence: value, active } = memory.row
      if (!memory.unread) return memory.line
      return active && isOperational(category) ? `- [${category}] ${observation} (confidence: ${value})` : ""
    },

    waysTitle: () => t("memory.ways", { n: memory.ways.length }),
    note: () => (memory.unread ? t("memory.line", { tokens: 20, place: 10, all: 20 }) : memory.lineNote),
    includedNote() {
      if (memory.historical) return ""
      return evidence.phase === "ready"
        ? this.includedIn()
        : evidence.phase === "failed"
          ? ""
          : t("memory.included_in", { n: 100 })
    },

    outcomesWords() {
      const outcomes = evidence.outcomes
      if (!outcomes || outcomes.edited) return ""
      const { worked, tried, interval, in_prompt: inPrompt, not_in_prompt: notInPrompt } = outcomes
      const [low, high] = interval.map((/** @type {number} */ share) => Math.round(share * 100))
      return [
        t("memory.outcomes", { worked, tried, low, high }),
        t("memory.repaired_with", { repaired: inPrompt.repaired, n: inPrompt.incidents }),
        t("memory.repaired_without", { repaired: notInPrompt.repaired, n: notInPrompt.incidents }),
      ].join(" ")
    },

    earlier: () => evidence.more(memory.id, sameAs(memory, memory.id)),
    auditAddress: () => (memory.row ? `/audit?topic=${encodeURIComponent(topicOf(memory.row))}` : null),
    pageAddress: () => (evidence.page ? `/notebook?page=${encodeURIComponent(evidence.page)}` : null),
    auditWords: () => (memory.row ? t("memory.audit", { topic: topicOf(memory.row) }) : ""),
    includedMore: () => more(evidence.told),
    reportedMore: () => more(evidence.said),

    chart: () => trend(memory.row, memory.history, Date.now()),
    chartWords: () => steps(memory.row, memory.history, store("clock").now),

    /** How a memory came to be reported, and the effect on its confidence. @param {MemoryReport} report */
    reportWords(report) {
      const { before, after } = report
      const text = reportWords(report)
      const what = text[0].toUpperCase() + text.slice(1)
      if (before === null || after === null || before === after) return what
      return t("memory.reported", { what, was: confidence(before), is: confidence(after) })
    },

    /** A step of the history, without the session, which has a link beside the step. @param {HistoryEntry} entry */
    step: (entry) => historyWords({ ...entry, session_id: null }, { unnamed: true }),

    /** Contradicting memories; a source that refutes the memory is shown with its verification. */
    partners: () => evidence.partners.filter((/** @type {Partner} */ partner) => partner.memory_id !== memory.id),

    /** Both claims side by side, with the differences marked. @param {Partner} partner */
    claims({ memory: other }) {
      const parts = other ? wordDiff(memory.row.observation, other.observation) : []
      return other ? [claim(memory.row, oldSide(parts)), claim(other, newSide(parts))] : []
    },

    /** @param {Partner} partner */
    caseWords({ review }) {
      if (!review) return t("memory.case_none")
      const id = String(review.id)
      if (review.state === "resolved")
        return t("memory.case_resolved", { id, decision: decidedWords(/** @type {any} */ (review)) })
      return t(review.kind === "conflict" ? "memory.case_open" : "memory.case_possible", { id })
    },

    caseLink: (/** @type {Partner} */ partner) =>
      t(partner.review?.state === "open" ? "memory.resolve" : "memory.show"),
    waits: (/** @type {Partner} */ { review }) => review?.state === "open",
    undoWords: (/** @type {string} */ step) => t("memory.revert_step", { step }),
  }
}

/** @param {Memory} memory @param {import("../../shared/format/diff.js").Part[]} parts */
function claim({ id, confidence, active }, parts) {
  return { id, parts, confidence, active }
}

/** Whether the panel still shows the requested memory. @param {any} memory @param {number} id */
function sameAs(memory, id) {
  return () => memory.id === id
}

/** @param {{total: number, items: unknown[]}} counted */
function more({ total, items }) {
  return total > items.length ? t("memory.more", { n: total - items.length }) : ""
}

/** @param {boolean} wasActive @param {Memory | null} row */
function savedWords(wasActive, row) {
  if (!row || row.active === wasActive) return t("memory.saved")
  return t(row.active ? "memory.saved_active" : "memory.saved_inactive")
}

const TOPIC_CHARS = 60

/** The topic of an audit of a memory: its service, or the start of its text. @param {Memory} memory */
function topicOf({ service, title, observation }) {
  return service ?? (title || observation).slice(0, TOPIC_CHARS).trim()
}
