import { THRESHOLD, momentOf } from "../format.js"
import { t } from "../texts.js"
import { BLANK, draftOf, edits, resumed, wrongIn } from "./memory-draft.js"

const SHOWN = ["observation", "service"]
const REVERSIBLE = [null, "low", "operator"]

/**
 * One memory edited where it stands in the list. What is saved shows at once, on top of what others changed meanwhile;
 * where they changed the same a person is asked in the panel. A refusal opens the row again with what was typed; what
 * was typed and left is there when the row is opened again, here or in the panel.
 * @param {{api: Api, memories: any, memory: any, router: any, toasts: any, drafts: ReturnType<typeof import("../drafts.js").drafts>}} with_
 */
export function rowEdit({ api, memories, memory, router, toasts, drafts }) {
  /** @type {Map<number, Promise<Memory | null>>} what is on its way: it is not typed anew, and the next edit follows it */
  const onWay = new Map()
  return {
    id: /** @type {number | null} */ (null),
    base: /** @type {Memory | null} */ (null),
    draft: /** @type {import("./memory-draft.js").MemoryDraft} */ ({ ...BLANK }),
    /** When what stands there was typed, where it was not typed just now. */
    typedAt: /** @type {number | null} */ (null),
    errors: /** @type {Record<string, string>} */ ({}),
    problem: "",

    /** @param {Memory} row */
    start(row) {
      const before = onWay.has(row.id) ? null : resumed(drafts, row)
      this.open(before?.base ?? row, before?.draft ?? draftOf(row))
      this.typedAt = before?.at ?? null
    },

    /** @param {Memory} base @param {import("./memory-draft.js").MemoryDraft} draft */
    open(base, draft) {
      this.id = base.id
      this.base = { ...base }
      this.draft = draft
      this.typedAt = null
      this.errors = {}
      this.problem = ""
    },

    /** Something was typed: it outlives a reload, and another row. */
    keep() {
      const { base, draft } = this
      if (!base) return
      this.typedAt = null
      if (Object.keys(edits(draft, base)).length === 0) drafts.drop(base.id, base.version)
      else drafts.keep(base.id, { version: base.version, base: draftOf(base), draft: { ...draft } })
    },

    leave() {
      this.id = null
      this.base = null
    },

    /** Leave the row as it is, and forget what was typed. */
    giveUp() {
      if (this.base) drafts.drop(this.base.id, this.base.version)
      this.leave()
    },

    /** @param {number} by */
    nudge(by) {
      const moved = Number(this.draft.confidence) + by
      this.draft.confidence = Math.round(100 * Math.min(1, Math.max(0, moved))) / 100
      this.keep()
    },

    /** What saving does to whether sessions read it. */
    get outlook() {
      if (!this.base) return ""
      if (this.typedAt !== null) return t("memory.kept", { at: momentOf(this.typedAt) })
      const { active, confidence, inactive_reason: reason } = this.base
      const sure = Number(this.draft.confidence)
      if (sure < THRESHOLD) return active ? t("memories.turnsOff") : ""
      if (active || sure === confidence) return ""
      return REVERSIBLE.includes(reason) ? t("memories.turnsOn") : t("memories.staysOff", { why: reason ?? "" })
    },

    /** @returns {Promise<boolean>} whether the row is closed */
    async save() {
      const { base, draft } = this
      if (!base) return true
      this.refuse(wrongIn(draft))
      if (Object.keys(this.errors).length) return false
      const changes = edits(draft, base)
      this.leave()
      return Object.keys(changes).length === 0 || send(base, { ...draft }, changes, this)
    },

    /** Say what is wrong: beside its field, or below all of them. @param {Record<string, string>} errors */
    refuse(errors) {
      this.errors = errors
      const others = Object.keys(errors).filter((name) => !SHOWN.includes(name))
      this.problem = others.map((name) => errors[name]).join(" ")
    },
  }

  /** @param {Memory} base @param {import("./memory-draft.js").MemoryDraft} draft @param {Record<string, any>} changes @param {any} editor */
  async function send(base, draft, changes, editor) {
    memories.foresee(foreseen(base, changes))
    try {
      memory.merged = ""
      const row = await pushed(base, changes)
      drafts.drop(base.id, base.version)
      await memory.accept(row)
      toasts.say(memory.merged || savedWords(base, row), { undo: () => undo(row) })
      return true
    } catch (error) {
      const problem = /** @type {any} */ (error)
      memories.foresee(base)
      const late = editor.id !== null
      if (problem.status === 412 && problem.current) overtaken(base, draft, changes, problem)
      else if (late) toasts.say(t("memories.notSavedLate", { why: problem.message }), { bad: true })
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
    const push = (/** @type {Memory} */ on) => memory.push(on.id, on.version, changes, on)
    const earlier = onWay.get(base.id)
    const pushing = earlier ? earlier.then((row) => push(row && row.version > base.version ? row : base)) : push(base)
    const ends = pushing.catch(() => null)
    onWay.set(base.id, ends)
    try {
      return await pushing
    } finally {
      if (onWay.get(base.id) === ends) onWay.delete(base.id)
    }
  }

  /**
   * The panel knows how to show mine beside theirs.
   * @param {Memory} base @param {import("./memory-draft.js").MemoryDraft} draft @param {Record<string, any>} changes @param {any} problem
   */
  function overtaken(base, draft, changes, problem) {
    router.go(router.keeping(`/memories/${base.id}`))
    memory.base = base
    memory.draft = draft
    memory.refuse(problem, changes, base)
  }

  /** @param {Memory} row as it was saved */
  async function undo({ id, version }) {
    const { items } = await api.get(`/memories/${id}/history`)
    const step = items.find((/** @type {HistoryEntry} */ each) => each.version === version)
    if (!step) throw new Error(t("memories.stepGone"))
    await memory.accept(await api.post(`/memories/${id}/history/${step.id}/undo`))
    toasts.say(t("memories.asItWas"))
  }
}

/** The row as the server will have it. @param {Memory} row @param {Record<string, any>} changes @returns {Memory} */
function foreseen(row, changes) {
  const next = { ...row, ...changes }
  if (changes.confidence === undefined) return next
  const on = next.confidence >= THRESHOLD && (row.active || REVERSIBLE.includes(row.inactive_reason))
  return { ...next, active: on, inactive_reason: on ? null : (row.inactive_reason ?? "low") }
}

/** @param {Memory} before @param {Memory} after */
function savedWords(before, after) {
  if (before.active === after.active) return t("memories.saved")
  return after.active ? t("memories.savedOn") : t("memories.savedOff")
}
