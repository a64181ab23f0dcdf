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
 * One memory edited where it stands in the list. What is saved shows at once, on top of what others changed meanwhile;
 * where they changed the same a person is asked in the panel. A refusal opens the row again with what was typed; what
 * was typed and left is there when the row is opened again, here or in the panel.
 * @param {{memories: any, memory: any, router: any, toasts: any, journal: any, drafts: ReturnType<typeof import("../../shared/memory-form/drafts.js").drafts>, timers?: any}} with_
 */
export function rowEdit({ memories, memory, router, toasts, drafts, journal, timers = globalThis }) {
  /** @type {Map<number, Promise<Memory | null>>} what is on its way: it is not typed anew, and the next edit follows it */
  const onWay = new Map()
  /** @type {Map<number, Memory>} what the last edit here made of it, which the list may not show yet */
  const became = new Map()
  /** @type {{base: Memory, to: number, timer: any} | null} the steps of a confidence that are not sent yet */
  let stepped = null
  const editor = {
    id: /** @type {number | null} */ (null),
    base: /** @type {Memory | null} */ (null),
    draft: /** @type {import("../../shared/memory-form/draft.js").MemoryDraft} */ ({ ...BLANK }),
    /** When what stands there was typed, where it was not typed just now. */
    typedAt: /** @type {number | null} */ (null),
    errors: /** @type {Record<string, string>} */ ({}),
    problem: "",
    clamped: UNCLAMPED,

    /** @param {Memory} row */
    start(row) {
      this.sendSteps()
      const before = onWay.has(row.id) ? null : resumed(drafts, row)
      this.open(before?.base ?? row, before?.draft ?? draftOf(row))
      this.typedAt = before?.at ?? null
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

    /** Change the confidence of a row of the list by a step. @param {Memory} row @param {number} by */
    step(row, by) {
      if (stepped?.base.id !== row.id) this.sendSteps()
      const base = stepped?.base ?? { ...row }
      const to = moved(stepped?.to ?? row.confidence, by)
      timers.clearTimeout(stepped?.timer)
      stepped = { base, to, timer: timers.setTimeout(() => this.sendSteps(), PAUSE_MS) }
      memories.foresee(foreseen(base, { confidence: to }))
      toasts.announce(t("memories.stepped", { confidence: confidence(to) }), "confidence")
    },

    /** Save the steps made so far as one edit. */
    async sendSteps() {
      if (!stepped) return
      const { base, to, timer } = stepped
      timers.clearTimeout(timer)
      stepped = null
      const changes = edits({ ...draftOf(base), confidence: to }, base)
      if (Object.keys(changes).length === 0) return
      await send({ base, draft: { ...draftOf(base), confidence: to }, changes, note: "" }, this)
    },

    /** Steps not sent yet are undone here; edits under way become acts first. */
    async withdraw() {
      if (!stepped) return Promise.all(onWay.values()).then(() => false)
      const { base, timer } = stepped
      timers.clearTimeout(timer)
      stepped = null
      memories.foresee(base)
      toasts.show(t("memories.reverted", { confidence: confidence(base.confidence) }))
      return true
    },

    /** Something was typed: it outlives a reload, and another row. */
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

    /** Leave the row as it is, and forget what was typed. */
    giveUp() {
      if (this.base) drafts.drop(this.base.id, this.base.version)
      this.exit()
    },

    /** @param {number} by */
    nudge(by) {
      this.draft.confidence = moved(Number(this.draft.confidence), by)
      this.keep()
    },

    clamp() {
      clampConfidence(this)
      this.keep()
    },

    /** What saving does to whether sessions read it. */
    get outlook() {
      return [clampNote(this), this.effect()].filter(Boolean).join(" ")
    },

    effect() {
      if (!this.base) return ""
      if (this.typedAt !== null) return t("memory.draft_restored", { at: momentOf(this.typedAt) })
      const { active, confidence, inactive_reason: reason } = this.base
      const sure = Number(this.draft.confidence)
      if (sure < THRESHOLD) return active ? t("memories.deactivates") : ""
      if (active || sure === confidence) return ""
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

    /** Say what is wrong: beside its field, or below all of them. @param {Record<string, string>} errors */
    refuse(errors) {
      this.errors = errors
      const others = Object.keys(errors).filter((name) => !SHOWN.includes(name))
      this.problem = others.map((name) => errors[name]).join(" ")
    },
  }
  journal.beforeUndo(() => editor.withdraw())
  return editor

  /** @param {{base: Memory, draft: import("../../shared/memory-form/draft.js").MemoryDraft, changes: Record<string, any>, note: string}} edit @param {any} editor */
  async function send({ base, draft, changes, note }, editor) {
    memories.foresee(foreseen(base, changes))
    try {
      memory.merged = ""
      const row = await pushed(base, changes)
      drafts.drop(base.id, base.version)
      await memory.accept(row)
      toasts.show(`${memory.merged || savedWords(base, row)} ${note}`.trim(), { undo: journal.undoing() })
      return true
    } catch (error) {
      const problem = /** @type {any} */ (error)
      memories.foresee(base)
      const late = editor.id !== null
      if (problem.status === 412 && problem.current) overtaken(base, draft, changes, problem)
      else if (late) toasts.show(t("memories.notSavedLate", { why: problem.message }), { bad: true })
      if (late || problem.status === 412) return true
      editor.open(base, draft)
      const errors = (problem.errors ?? []).map((/** @type {any} */ each) => [each.field, each.message])
      editor.refuse(Object.fromEntries(errors))
      if (!errors.length) editor.problem = t("memories.notSaved", { why: problem.message })
      return false
    }
  }

  /** @param {Memory} base @param {Record<string, any>} changes @returns {Promise<Memory>} */
  async function pushed(base, changes) {
    const on = (/** @type {Memory | null | undefined} */ row) => (row && row.version > base.version ? row : base)
    const push = (/** @type {Memory} */ row) => memory.push(row.id, row.version, changes, row)
    const earlier = onWay.get(base.id)
    const pushing = earlier ? earlier.then((row) => push(on(row))) : push(on(became.get(base.id)))
    const ends = pushing.catch(() => null)
    onWay.set(base.id, ends)
    try {
      const row = await pushing
      became.set(base.id, row)
      return row
    } finally {
      if (onWay.get(base.id) === ends) onWay.delete(base.id)
    }
  }

  /**
   * The panel knows how to show mine beside theirs.
   * @param {Memory} base @param {import("../../shared/memory-form/draft.js").MemoryDraft} draft @param {Record<string, any>} changes @param {any} problem
   */
  function overtaken(base, draft, changes, problem) {
    router.go(router.keeping(`/memories/${base.id}`))
    memory.base = base
    memory.draft = draft
    memory.refuse(problem, changes, base)
  }
}

/** @param {number} value @param {number} by */
function moved(value, by) {
  return Math.round(100 * Math.min(1, Math.max(0, value + by))) / 100
}

/** The row as the server will have it. @param {Memory} row @param {Record<string, any>} changes @returns {Memory} */
function foreseen(row, changes) {
  const next = { ...row, ...changes }
  if (changes.confidence === undefined) return next
  const on =
    next.confidence >= THRESHOLD && (row.active || !row.inactive_reason || REVERSIBLE.includes(row.inactive_reason))
  return { ...next, active: on, inactive_reason: on ? null : (row.inactive_reason ?? "low") }
}

/** @param {Memory} before @param {Memory} after */
function savedWords(before, after) {
  if (before.active === after.active) return t("memories.saved")
  return after.active ? t("memories.savedOn") : t("memories.savedOff")
}
