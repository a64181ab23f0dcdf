import { REVERSIBLE, THRESHOLD } from "../../../generated/values.js"
import { confidence, momentOf } from "../../shared/format/format.js"
import { t } from "../../shared/texts/index.js"
import {
  BLANK,
  UNCLAMPED,
  clampConfidence,
  clampNote,
  draftOf,
  edits,
  resumed,
  wrongIn,
} from "../../shared/memory-form/draft.js"

/** Steps of the confidence within this time are saved as one edit. */
const PAUSE_MS = 900
const SHOWN = ["observation", "service"]

/**
 * Edits one memory in its row of the list. A saved edit shows at once, on top of what others changed meanwhile; if they
 * changed the same field, the panel asks which value to use. A refused edit opens the row again with the typed text;
 * unsaved text is restored when the row is opened again, here or in the panel.
 * @param {{memories: any, memory: any, router: any, toasts: any, journal: any, drafts: ReturnType<typeof import("../../shared/memory-form/drafts.js").drafts>, timers?: any}} dependencies
 */
export function rowEdit({ memories, memory, router, toasts, drafts, journal, timers = globalThis }) {
  /** @type {Map<number, Promise<Memory | null>>} edits in flight: they are not restored as drafts, and the next edit waits for them */
  const onWay = new Map()
  /** @type {Map<number, Memory>} results of the last edits here, which the list may not show yet */
  const savedRows = new Map()
  /** @type {{base: Memory, to: number, timer: any} | null} the confidence steps that are not sent yet */
  let pendingStep = null
  const editor = {
    id: /** @type {number | null} */ (null),
    base: /** @type {Memory | null} */ (null),
    draft: /** @type {import("../../shared/memory-form/draft.js").MemoryDraft} */ ({ ...BLANK }),
    /** The time the draft was typed, if it was restored. */
    typedAt: /** @type {number | null} */ (null),
    errors: /** @type {Record<string, string>} */ ({}),
    problem: "",
    clamped: UNCLAMPED,

    /** @param {Memory} row */
    start(row) {
      this.sendSteps()
      const resumedDraft = onWay.has(row.id) ? null : resumed(drafts, row)
      this.open(resumedDraft?.base ?? row, resumedDraft?.draft ?? draftOf(row))
      this.typedAt = resumedDraft?.at ?? null
    },

    /** @param {Memory} base @param {import("../../shared/memory-form/draft.js").MemoryDraft} draft */
    open(base, draft) {
      this.id = base.id
      this.base = { ...base }
      this.draft = draft
      this.typedAt = null
      this.errors = {}
      this.problem = ""
      this.clamped = UNCLAMPED
    },

    /** Change the confidence of a row of the list by a step. @param {Memory} row @param {number} delta */
    step(row, delta) {
      if (pendingStep?.base.id !== row.id) this.sendSteps()
      const base = pendingStep?.base ?? { ...row }
      const newConfidence = moved(pendingStep?.to ?? row.confidence, delta)
      timers.clearTimeout(pendingStep?.timer)
      pendingStep = { base, to: newConfidence, timer: timers.setTimeout(() => this.sendSteps(), PAUSE_MS) }
      memories.showPredicted(predicted(base, { confidence: newConfidence }))
      toasts.announce(t("memories.stepped", { confidence: confidence(newConfidence) }), "confidence")
    },

    /** Save the steps made so far as one edit. */
    async sendSteps() {
      if (!pendingStep) return
      const { base, to, timer } = pendingStep
      timers.clearTimeout(timer)
      pendingStep = null
      const changes = edits({ ...draftOf(base), confidence: to }, base)
      if (Object.keys(changes).length === 0) return
      await send({ base, draft: { ...draftOf(base), confidence: to }, changes, note: "" }, this)
    },

    /** Undo steps not sent yet; wait for edits in flight to become acts. */
    async withdraw() {
      if (!pendingStep) return Promise.all(onWay.values()).then(() => false)
      const { base, timer } = pendingStep
      timers.clearTimeout(timer)
      pendingStep = null
      memories.showPredicted(base)
      toasts.show(t("memories.reverted", { confidence: confidence(base.confidence) }))
      return true
    },

    /** Store the typed text: it survives a reload and a change of rows. */
    keep() {
      const { base, draft } = this
      if (!base) return
      this.typedAt = null
      if (Object.keys(edits(draft, base)).length === 0) drafts.drop(base.id, base.version)
      else drafts.keep(base.id, { version: base.version, base: draftOf(base), draft: { ...draft } })
    },

    exit() {
      this.id = null
      this.base = null
    },

    /** Close the row unchanged, and discard the draft. */
    giveUp() {
      if (this.base) drafts.drop(this.base.id, this.base.version)
      this.exit()
    },

    /** @param {number} delta */
    nudge(delta) {
      this.draft.confidence = moved(Number(this.draft.confidence), delta)
      this.keep()
    },

    clamp() {
      clampConfidence(this)
      this.keep()
    },

    /** Whether saving changes if sessions read the memory. */
    get outlook() {
      return [clampNote(this), this.effect()].filter(Boolean).join(" ")
    },

    effect() {
      if (!this.base) return ""
      if (this.typedAt !== null) return t("memory.draft_restored", { at: momentOf(this.typedAt) })
      const { active, confidence, inactive_reason: reason } = this.base
      const typedConfidence = Number(this.draft.confidence)
      if (typedConfidence < THRESHOLD) return active ? t("memories.deactivates") : ""
      if (active || typedConfidence === confidence) return ""
      return !reason || REVERSIBLE.includes(reason)
        ? t("memories.reactivates")
        : t("memories.staysInactive", { why: reason ?? "" })
    },

    /** @returns {Promise<boolean>} whether the row is closed */
    async save() {
      const { base, draft } = this
      if (!base) return true
      clampConfidence(this)
      const note = clampNote(this)
      this.refuse(wrongIn(draft))
      if (Object.keys(this.errors).length) return false
      const changes = edits(draft, base)
      this.exit()
      if (Object.keys(changes).length === 0 && note) toasts.show(note)
      return Object.keys(changes).length === 0 || send({ base, draft: { ...draft }, changes, note }, this)
    },

    /** Show errors beside their fields, or below all fields. @param {Record<string, string>} errors */
    refuse(errors) {
      this.errors = errors
      const otherFields = Object.keys(errors).filter((name) => !SHOWN.includes(name))
      this.problem = otherFields.map((name) => errors[name]).join(" ")
    },
  }
  journal.beforeUndo(() => editor.withdraw())
  return editor

  /** @param {{base: Memory, draft: import("../../shared/memory-form/draft.js").MemoryDraft, changes: Record<string, any>, note: string}} edit @param {any} editor */
  async function send({ base, draft, changes, note }, editor) {
    memories.showPredicted(predicted(base, changes))
    try {
      memory.merged = ""
      const row = await pushed(base, changes)
      drafts.drop(base.id, base.version)
      await memory.accept(row)
      toasts.show(`${memory.merged || savedWords(base, row)} ${note}`.trim(), { undo: journal.undoing() })
      return true
    } catch (error) {
      const problem = /** @type {any} */ (error)
      memories.showPredicted(base)
      const editsOther = editor.id !== null
      if (problem.status === 412 && problem.current) openConflict(base, draft, changes, problem)
      else if (editsOther) toasts.show(t("memories.notSavedLate", { why: problem.message }), { bad: true })
      if (editsOther || problem.status === 412) return true
      editor.open(base, draft)
      const errors = (problem.errors ?? []).map((/** @type {any} */ error) => [error.field, error.message])
      editor.refuse(Object.fromEntries(errors))
      if (!errors.length) editor.problem = t("memories.notSaved", { why: problem.message })
      return false
    }
  }

  /** @param {Memory} base @param {Record<string, any>} changes @returns {Promise<Memory>} */
  async function pushed(base, changes) {
    const newest = (/** @type {Memory | null | undefined} */ row) => (row && row.version > base.version ? row : base)
    const push = (/** @type {Memory} */ row) => memory.push(row.id, row.version, changes, row)
    const pendingSave = onWay.get(base.id)
    const pushing = pendingSave ? pendingSave.then((row) => push(newest(row))) : push(newest(savedRows.get(base.id)))
    const settledPush = pushing.catch(() => null)
    onWay.set(base.id, settledPush)
    try {
      const row = await pushing
      savedRows.set(base.id, row)
      return row
    } finally {
      if (onWay.get(base.id) === settledPush) onWay.delete(base.id)
    }
  }

  /**
   * The panel shows both versions side by side.
   * @param {Memory} base @param {import("../../shared/memory-form/draft.js").MemoryDraft} draft @param {Record<string, any>} changes @param {any} problem
   */
  function openConflict(base, draft, changes, problem) {
    router.go(router.keeping(`/memories/${base.id}`))
    memory.base = base
    memory.draft = draft
    memory.refuse(problem, changes, base)
  }
}

/** @param {number} value @param {number} delta */
function moved(value, delta) {
  return Math.round(100 * Math.min(1, Math.max(0, value + delta))) / 100
}

/** The row as the server will return it. @param {Memory} row @param {Record<string, any>} changes @returns {Memory} */
function predicted(row, changes) {
  const updated = { ...row, ...changes }
  if (changes.confidence === undefined) return updated
  const isActive =
    updated.confidence >= THRESHOLD && (row.active || !row.inactive_reason || REVERSIBLE.includes(row.inactive_reason))
  return { ...updated, active: isActive, inactive_reason: isActive ? null : (row.inactive_reason ?? "low") }
}

/** @param {Memory} before @param {Memory} after */
function savedWords(before, after) {
  if (before.active === after.active) return t("memories.saved")
  return after.active ? t("memories.savedOn") : t("memories.savedOff")
}
