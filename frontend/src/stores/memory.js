import { isOperational } from "../format.js"
import { similar } from "./similar.js"

/** @param {Memory} memory */
export function draftOf({ observation, category, service, confidence }) {
  return { observation, category, service: service ?? "", confidence }
}

/** @typedef {ReturnType<typeof draftOf>} MemoryDraft */

/** What a form says, as the API takes it. @param {MemoryDraft} draft */
export function payload({ observation, category, service, confidence }) {
  const name = service.trim()
  return {
    observation: observation.trim(),
    category,
    service: name === "" || name.toLowerCase() === "general" ? null : name,
    confidence: Number(confidence),
  }
}

/** Only what differs travels, so that an edit of the text says nothing about the confidence. @param {MemoryDraft} draft @param {Memory} memory */
export function edits(draft, memory) {
  return Object.fromEntries(
    Object.entries(payload(draft)).filter(([name, value]) => value !== /** @type {any} */ (memory)[name]),
  )
}

/**
 * The memory in the side panel: its fields to edit, its history, how the next session reads it.
 * @param {{api: Api, memories: any, beside?: ReturnType<typeof similar>}} with_
 */
export function memory({ api, memories, beside = similar({ api }) }) {
  /** @type {Map<number, MemoryDraft>} what was typed and neither saved nor cancelled */
  const unsaved = new Map()
  const typed = (/** @type {number} */ id) => {
    const draft = unsaved.get(id)
    unsaved.delete(id)
    return draft
  }
  return {
    id: /** @type {number | null} */ (null),
    /** The moment it is shown as of; nothing for now. */
    as_of: "",
    row: /** @type {Memory | null} */ (null),
    base: /** @type {Memory | null} */ (null),
    draft: /** @type {MemoryDraft} */ ({ observation: "", category: "timing", service: "", confidence: 0.7 }),
    history: /** @type {HistoryEntry[]} */ ([]),
    /** Where the history goes on, when it is longer than what was read. */
    earlier: /** @type {string | null} */ (null),
    line: "",
    lineNote: "",
    phase: "closed",
    problem: "",
    errors: /** @type {Record<string, string>} */ ({}),
    saving: false,
    theirs: /** @type {Memory | null} */ (null),
    /** What we hold already of what is typed. */
    beside,

    get open() {
      return this.id !== null
    },

    get dirty() {
      return this.base !== null && Object.keys(edits(this.draft, this.base)).length > 0
    },

    get past() {
      return this.as_of !== ""
    },

    /** @param {number | null} id @param {string} [as_of] */
    async visit(id, as_of = "") {
      if (id === this.id && as_of === this.as_of && this.phase === "ready") return
      if (this.id !== null && this.dirty) unsaved.set(this.id, { ...this.draft })
      this.id = id
      this.as_of = as_of
      this.row = this.base = null
      this.history = []
      this.earlier = null
      this.line = this.lineNote = this.problem = ""
      this.errors = {}
      this.beside.clear()
      this.phase = id === null ? "closed" : "loading"
      if (id !== null) await this.load(id)
    },

    /** @param {number} id */
    async load(id) {
      const { as_of } = this
      const listed = !this.past && memories.rows.find((/** @type {Memory} */ row) => row.id === id)
      if (listed) this.take(listed)
      try {
        const row = await api.get(`/memories/${id}`, { as_of })
        if (this.id === id && this.as_of === as_of) this.take(row)
      } catch (problem) {
        if (this.id === id && !listed) this.fail(/** @type {any} */ (problem))
      }
      if (this.id === id && this.row) await this.about(id)
    },

    /** @param {{status: number, message: string}} problem */
    fail(problem) {
      this.phase = problem.status === 404 ? "missing" : "failed"
      this.problem = problem.message
    },

    /** The row as it is now; what the operator has typed but not saved stays. @param {Memory} row */
    take(row) {
      if (this.row?.id === row.id && this.row.version > row.version) return
      this.row = row
      if (this.past) this.start(row)
      else if (!this.dirty) this.start(row, typed(row.id))
      this.phase = "ready"
    },

    /** An edit begins on this version; a newer one that arrives meanwhile is a conflict, not a new beginning. @param {Memory} row @param {MemoryDraft} [draft] */
    start(row, draft = draftOf(row)) {
      this.base = row
      this.draft = draft
      this.compare()
    },

    /** Other memories matter when the text, its category or its service is another than the one we hold. */
    compare() {
      const { base, draft } = this
      const { observation, category, service } = base ? edits(draft, base) : {}
      if (base && [observation, category, service].some((each) => each !== undefined))
        this.beside.follow(draft, base.id)
      else this.beside.clear()
    },

    /** @param {number} id */
    async about(id) {
      const [history] = await Promise.all([api.get(`/memories/${id}/history`).catch(() => null), this.read()])
      if (this.id !== id || !history) return
      this.history = this.until(history.items)
      this.earlier = history.next
    },

    /** What had happened by then. @param {HistoryEntry[]} entries */
    until(entries) {
      return this.past ? entries.filter(({ at }) => Date.parse(at) <= Date.parse(this.as_of)) : entries
    },

    async moreHistory() {
      const { id, earlier } = this
      const page = await api.get(`/memories/${id}/history`, { cursor: earlier }).catch(() => null)
      if (!page || this.id !== id || this.earlier !== earlier) return
      this.history.push(...this.until(page.items))
      this.earlier = page.next
    },

    /** The very line that the next session of this service gets, or why it gets none. */
    async read() {
      const row = this.row
      this.line = this.lineNote = ""
      if (!row || !isOperational(row.category)) return
      const { as_of } = this
      const sections = { tier: 1, services: row.service ?? "", sections: "operational", as_of }
      const context = await api.get("/context", sections).catch(() => null)
      if (!context || this.row?.id !== row.id) return
      const at = context.included.findIndex((/** @type {{id: number}} */ each) => each.id === row.id)
      const out = context.excluded.find((/** @type {{id: number}} */ each) => each.id === row.id)
      this.line = at < 0 ? "" : context.included[at].line
      this.lineNote =
        at < 0
          ? `It is not in the next prompt${out ? `: ${out.why}` : ""}.`
          : `${context.included[at].tokens} tokens, place ${at + 1} of ${context.included.length}.`
    },

    /** @param {Change} change */
    follow({ op, id, row }) {
      if (this.past) return
      if (op === "batch" && this.id !== null && row.ids.includes(this.id)) return this.load(this.id)
      if (id !== this.id) return
      if (op === "deleted") this.phase = "missing"
      else if (row) {
        this.take(row)
        this.about(id)
      }
    },

    /** What it is now after something was done to it here; what was typed stays. @param {Memory} row */
    accept(row) {
      memories.put(row, { own: true })
      if (this.id !== row.id) return
      this.take(row)
      return this.about(row.id)
    },

    reset() {
      if (this.row) this.start(this.row)
      this.errors = {}
      this.problem = ""
    },

    /** Save what differs, on the version it was made on. A newer one opens the conflict panel. @returns {Promise<boolean>} */
    async save() {
      if (!this.base || !this.dirty) return false
      const { id, version } = this.base
      return this.send(id, version, edits(this.draft, this.base))
    },

    /** @param {number} id @param {number} version @param {Record<string, unknown>} body */
    async send(id, version, body) {
      this.saving = true
      this.errors = {}
      this.problem = ""
      try {
        const row = await api.patch(`/memories/${id}`, body, `${id}-${version}`)
        this.settle(row)
        return true
      } catch (problem) {
        this.refuse(/** @type {any} */ (problem))
        return false
      } finally {
        this.saving = false
      }
    },

    /** @param {Memory} row */
    settle(row) {
      memories.put(row, { own: true })
      if (this.id !== row.id) return
      this.row = row
      this.start(row)
      this.theirs = null
      this.about(row.id)
    },

    /** @param {{status: number, message: string, current: Memory, errors: {field: string, message: string}[]}} problem */
    refuse(problem) {
      if (problem.status === 412 && problem.current) {
        this.theirs = problem.current
        return
      }
      this.errors = Object.fromEntries(problem.errors.map(({ field, message }) => [field, message]))
      this.problem = problem.errors.length ? "" : `Not saved. ${problem.message} What you typed is still here.`
    },

    /** What the operator changed, beside what stands there now; fields left alone are not in question. */
    get differences() {
      const { theirs, base } = this
      if (!theirs || !base) return []
      const other = /** @type {Record<string, unknown>} */ (payload(draftOf(theirs)))
      return Object.entries(edits(this.draft, base)).map(([name, mine]) => ({
        name,
        mine: String(mine ?? "general"),
        theirs: String(other[name] ?? "general"),
      }))
    },

    async keepMine() {
      const { theirs, base } = this
      if (!theirs || !base) return
      this.theirs = null
      await this.send(theirs.id, theirs.version, edits(this.draft, base))
    },

    takeTheirs() {
      const theirs = this.theirs
      if (theirs) this.settle(theirs)
    },

    leaveConflict() {
      this.theirs = null
    },
  }
}
