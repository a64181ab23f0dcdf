import { drafts as draftsIn } from "../../shared/memory-form/drafts.js"
import { rebase } from "./merge.js"
import { t } from "../../shared/texts/index.js"
import { conflict as conflictOf, wordsOf } from "./conflict.js"
import { evidence } from "./evidence.js"
import {
  BLANK,
  UNCLAMPED,
  clampConfidence,
  draftOf,
  edits,
  fieldsOf,
  payload,
  resumed,
  same,
  wrongIn,
} from "../../shared/memory-form/draft.js"
import { similar } from "../../shared/memory-form/similar.js"

export { draftOf, edits, payload }

/** How often an edit is rebased on a newer version before a person decides. */
const MAX_REBASES = 5

/** A storage that stores nothing. */
const NO_STORAGE = { getItem: () => null, setItem() {}, removeItem() {} }

/**
 * The memory in the side panel: its fields to edit, its history, and its line in the next prompt.
 * @param {{api: Api, memories: any, beside?: ReturnType<typeof similar>, drafts?: ReturnType<typeof draftsIn>,
 *   conflict?: ReturnType<typeof conflictOf>, toasts?: {show: (text: string) => void}}} dependencies
 */
export function memory({
  api,
  memories,
  beside = similar({ api }),
  drafts = draftsIn({ storage: NO_STORAGE }),
  conflict = conflictOf(),
  toasts = { show() {} },
}) {
  let lastRequestId = 0
  return {
    id: /** @type {number | null} */ (null),
    /** The point in time that the panel shows; empty for now. */
    as_of: "",
    row: /** @type {Memory | null} */ (null),
    base: /** @type {Memory | null} */ (null),
    draft: /** @type {import("../../shared/memory-form/draft.js").MemoryDraft} */ ({ ...BLANK }),
    /** The time the draft was typed, if it was restored. */
    typedAt: /** @type {number | null} */ (null),
    history: /** @type {HistoryEntry[]} */ ([]),
    /** The cursor of the next page of the history, if there is one. */
    earlier: /** @type {string | null} */ (null),
    line: "",
    lineNote: "",
    /** Changes that would include the memory in the next prompt, each sufficient by itself. */
    ways: /** @type {string[]} */ ([]),
    /** Whether the line in the next prompt is not loaded yet. */
    unread: true,
    phase: "closed",
    problem: "",
    errors: /** @type {Record<string, string>} */ ({}),
    clamped: UNCLAMPED,
    saving: false,
    /** The changes of somebody else that the last edit was rebased on. */
    merged: "",
    /** Similar memories to the typed text. */
    beside,
    /** The evidence of the memory. */
    evidence: evidence({ api }),

    get open() {
      return this.id !== null
    },

    get dirty() {
      return this.base !== null && Object.keys(edits(this.draft, this.base)).length > 0
    },

    get historical() {
      return this.as_of !== ""
    },

    /** @param {number | null} id @param {string} [as_of] */
    async visit(id, as_of = "") {
      if (id === this.id && as_of === this.as_of && this.phase === "ready") return
      this.remember()
      this.id = id
      this.as_of = as_of
      this.row = this.base = null
      this.history = []
      this.earlier = null
      this.line = this.lineNote = this.problem = ""
      this.ways = []
      this.unread = true
      this.errors = {}
      this.typedAt = null
      this.beside.clear()
      this.evidence.clear()
      this.phase = id === null ? "closed" : "loading"
      if (id !== null) await this.load(id)
    },

    /** @param {number} id */
    async load(id) {
      const { as_of } = this
      const listRow = !this.historical && memories.rows.find((/** @type {Memory} */ row) => row.id === id)
      if (listRow) this.take(listRow)
      try {
        const row = await api.get(`/memories/${id}`, { as_of })
        if (this.id === id && this.as_of === as_of) this.take(row)
      } catch (problem) {
        if (this.id === id && !listRow) this.fail(/** @type {any} */ (problem))
      }
      if (this.id === id && this.row) await this.about(id)
    },

    /** @param {{status: number, message: string}} problem */
    fail(problem) {
      this.phase = problem.status === 404 ? "missing" : "failed"
      this.problem = problem.message
    },

    /** Show the current row; unsaved typed text stays. @param {Memory} row */
    take(row) {
      if (this.row?.id === row.id && this.row.version > row.version) return
      this.row = row
      if (!this.base && !this.historical) this.resume(row)
      else if (this.historical || !this.dirty) this.start(row)
      this.phase = "ready"
    },

    /** Restore an earlier draft, on the version that it was begun on. @param {Memory} row */
    resume(row) {
      const resumedDraft = resumed(drafts, row)
      this.start(resumedDraft?.base ?? row, resumedDraft?.draft)
      this.typedAt = resumedDraft?.at ?? null
    },

    /**
     * An edit begins on this version; a newer version that arrives meanwhile is a conflict.
     * @param {Memory} row
     * @param {import("../../shared/memory-form/draft.js").MemoryDraft} [draft]
     */
    start(row, draft = draftOf(row)) {
      this.base = row
      this.draft = draft
      this.clamped = UNCLAMPED
      this.compare()
    },

    clamp() {
      clampConfidence(this)
      this.remember()
    },

    /** Look for similar memories if the text, category or service differs from the stored memory. */
    compare() {
      const { base, draft } = this
      this.remember()
      const { observation, category, service } = base ? edits(draft, base) : {}
      if (base && [observation, category, service].some((value) => value !== undefined))
        this.beside.follow(draft, base.id)
      else this.beside.clear()
    },

    /** Store unsaved text, so that it survives a reload; drop the draft if there are no changes. */
    remember() {
      const { base, draft } = this
      if (!base || this.historical) return
      if (this.dirty) drafts.keep(base.id, { version: base.version, base: draftOf(base), draft: { ...draft } })
      else drafts.drop(base.id, base.version)
    },

    /** @param {number} id */
    async about(id) {
      const requestId = ++lastRequestId
      const [history] = await Promise.all([
        api.get(`/memories/${id}/history`).catch(() => null),
        this.read(),
        this.historical ? null : this.evidence.load(id, () => this.id === id),
      ])
      if (this.id !== id || requestId !== lastRequestId || !history) return
      this.history = this.until(history.items)
      this.earlier = history.next
    },

    /** The entries up to the point in time shown. @param {HistoryEntry[]} entries */
    until(entries) {
      return this.historical ? entries.filter(({ at }) => Date.parse(at) <= Date.parse(this.as_of)) : entries
    },

    async moreHistory() {
      const { id, earlier } = this
      const page = await api.get(`/memories/${id}/history`, { cursor: earlier }).catch(() => null)
      if (!page || this.id !== id || this.earlier !== earlier) return
      this.history.push(...this.until(page.items))
      this.earlier = page.next
    },

    /**
     * Load its line in the next prompt, or the reason it has none and what would include it. The previous content
     * remains until then.
     */
    async read() {
      const { row, as_of } = this
      if (!row) return
      const response = await api.get(`/memories/${row.id}/prompt`, { as_of }).catch(() => null)
      if (this.row?.id !== row.id || this.row.version !== row.version || this.as_of !== as_of) return
      if (!response) return this.showLine("", t("memory.line_unread"))
      const { included, line, tokens, position, lines: lineCount, words: reason, ways } = response
      if (!included)
        return this.showLine("", t(as_of ? "memory.not_included_then" : "memory.not_included", { why: reason }), ways)
      const values = { tokens, place: position + 1, all: lineCount }
      this.showLine(line, t(as_of ? "memory.line_place_then" : "memory.line", values))
    },

    /** @param {string} line @param {string} note @param {{words: string}[]} [ways] */
    showLine(line, note, ways = []) {
      this.line = line
      this.lineNote = note
      this.ways = ways.map(({ words }) => words)
      this.unread = false
    },

    /** @param {Change} change */
    follow({ op, id, row }) {
      if (this.historical) return
      if (op === "batch" && this.id !== null && row.ids.includes(this.id)) return this.load(this.id)
      if (id !== this.id) return
      if (op === "deleted") this.phase = "missing"
      else if (op === "created" && this.phase === "missing") this.load(id)
      else if (row && !(this.row && this.row.version >= row.version)) {
        this.take(row)
        this.about(id)
      }
    },

    /** Show the result of an act performed here; unsaved typed text stays. @param {Memory} row */
    accept(row) {
      memories.put(row, { own: true })
      if (this.id !== row.id) return
      this.take(row)
      return this.about(row.id)
    },

    reset() {
      if (this.base) drafts.drop(this.base.id, this.base.version)
      if (this.row) this.start(this.row)
      this.typedAt = null
      this.errors = {}
      this.problem = ""
    },

    /** Save the changed fields, on the version they were edited on. @returns {Promise<boolean>} */
    async save() {
      if (!this.base || !this.dirty || this.saving) return false
      this.errors = wrongIn(this.draft)
      if (Object.keys(this.errors).length) return false
      const { id, version } = this.base
      return this.send(id, version, edits(this.draft, this.base))
    },

    /**
     * Send an edit. If a newer version exists, the edit is rebased on it, unless both changed the same field: then a
     * person decides. `base` is the row that was edited.
     * @param {number} id @param {number} version @param {Record<string, unknown>} body @param {Memory | null} [base]
     */
    send(id, version, body, base = null) {
      return this.attempt(id, version, body, base ?? this.known(id, version), body)
    },

    /** @param {number} id @param {number} version @param {Record<string, unknown>} body @param {Memory | null} base @param {Record<string, unknown>} typed the fields as they were typed when the edit began @returns {Promise<boolean>} */
    async attempt(id, version, body, base, typed) {
      this.saving = true
      this.errors = {}
      this.problem = this.merged = ""
      try {
        this.showSaved(await this.push(id, version, body, base), typed)
        if (this.merged) toasts.show(this.merged)
        return true
      } catch (problem) {
        this.refuse(/** @type {any} */ (problem), body, base)
        return false
      } finally {
        this.saving = false
      }
    },

    /** @param {number} id @param {number} version @param {Record<string, unknown>} body @param {Memory | null} base @returns {Promise<Memory>} */
    async push(id, version, body, base, attempts = MAX_REBASES) {
      try {
        return await api.patch(`/memories/${id}`, body, `${id}-${version}`)
      } catch (problem) {
        const { status, current } = /** @type {any} */ (problem)
        if (status !== 412 || !current || !base || !attempts) throw problem
        const { rest, clashes, also } = rebase(body, base, current)
        if (clashes.length) throw problem
        if (also.length) this.merged = t("memory.merged", { what: changesOf(also, base, current) })
        return Object.keys(rest).length ? this.push(id, current.version, rest, base, attempts - 1) : current
      }
    },

    /** The row of a version, if it is loaded. @param {number} id @param {number} version @returns {Memory | null} */
    known(id, version) {
      const rows = [this.base, this.row, ...memories.rows]
      return rows.find((/** @type {Memory | null} */ row) => row?.id === id && row.version === version) ?? null
    },

    /**
     * Show the saved row. Other typed text remains, also what was typed while the edit was being saved.
     * @param {Memory} row
     * @param {Record<string, unknown>} saved the fields as they were typed when the edit began
     */
    showSaved(row, saved) {
      memories.put(row, { own: true })
      // the feed may have delivered a later change before the response to this edit
      if (this.row?.id === row.id && this.row.version > row.version) row = this.row
      if (this.id !== row.id || !this.base) return
      const { base, draft } = this
      const typed = edits(draft, base)
      const unsavedNames = Object.keys(typed).filter((name) => !(name in saved && same(typed[name], saved[name])))
      this.row = row
      const unsentNames = unsavedNames.filter((name) => !(name in saved))
      if (unsentNames.some((name) => !same(fieldsOf(base)[name], fieldsOf(row)[name]))) return this.about(row.id)
      drafts.drop(base.id, base.version)
      this.typedAt = null
      this.start(row, {
        ...draftOf(row),
        ...Object.fromEntries(unsavedNames.map((name) => [name, valueIn(draft, name)])),
      })
      return this.about(row.id)
    },

    /** @param {{status: number, message: string, current: Memory, errors: {field: string, message: string}[]}} problem @param {Record<string, unknown>} [body] @param {Memory | null} [base] */
    refuse(problem, body = {}, base = null) {
      const theirs = problem.current
      if (problem.status === 412 && theirs) {
        const clashes = base ? rebase(body, base, theirs).clashes : Object.keys(body)
        return conflict.ask({ clashes, body, base: base ?? theirs, theirs }, (resolution) =>
          this.decide(resolution, body, theirs),
        )
      }
      const { errors = [] } = problem
      this.errors = Object.fromEntries(errors.map(({ field, message }) => [field, message]))
      this.problem = errors.length ? "" : t("memory.not_saved", { why: problem.message })
    },

    /**
     * The operator resolved a conflict: save the chosen values on the other version, or leave that version unchanged.
     * @param {Record<string, unknown>} resolution
     * @param {Record<string, unknown>} body
     * @param {Memory} theirs
     */
    async decide(resolution, body, theirs) {
      const changes = Object.entries(resolution).filter(([name, value]) => !same(value, fieldsOf(theirs)[name]))
      if (!changes.length) return this.showSaved(theirs, body)
      return this.attempt(theirs.id, theirs.version, Object.fromEntries(changes), theirs, body)
    },
  }
}

/** @param {import("../../shared/memory-form/draft.js").MemoryDraft} draft @param {string} name */
function valueIn(draft, name) {
  return draft[/** @type {keyof import("../../shared/memory-form/draft.js").MemoryDraft} */ (name)]
}

/** A text for the changes made by somebody else. @param {string[]} names @param {Memory} base @param {Memory} theirs */
function changesOf(names, base, theirs) {
  const [baseFields, theirFields] = [fieldsOf(base), fieldsOf(theirs)]
  const shownNames = names.includes("confidence") ? names.filter((name) => name !== "active") : names
  const changes = shownNames.map((name) =>
    t(/** @type {import("../../shared/texts/index.js").TextKey} */ (`memory.the_${name}`), {
      was: name === "service" ? String(baseFields[name] ?? "general") : wordsOf(baseFields[name]),
      is: name === "service" ? String(theirFields[name] ?? "general") : wordsOf(theirFields[name]),
    }),
  )
  return new Intl.ListFormat("en").format(changes)
}
