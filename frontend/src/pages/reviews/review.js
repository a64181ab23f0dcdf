import { sequence } from "../../shared/browser/sequence.js"
import { newSide, oldSide, wordDiff } from "../../shared/format/diff.js"
import { decidedWords } from "../../shared/format/outcomes.js"
import { t } from "../../shared/texts/index.js"
import { lossOf, scoped, waysOf } from "./ways.js"

const FORMS = ["both", "merge", "reword"]
const SOON_MS = 250
/** The maximum number of sessions named per claim; the page of the memory lists all. */
const NAMED = 5
const NOTHING = {
  loaded: false,
  keep_new: /** @type {PromptLine[]} */ ([]),
  keep_old: /** @type {PromptLine[]} */ ([]),
}
const BLANK = { old_scope: "", new_scope: "", observation: "" }

/** @typedef {import("./ways.js").Resolution} Resolution */
/** @typedef {{key: string, part: import("../../shared/format/diff.js").Part[]}} PromptLine */

/**
 * One case: two conflicting claims, and the ways to resolve it.
 * @param {{api: Api, reviews: any, toasts: any, journal: any, router: any, later?: (run: () => void, ms: number) => any}} dependencies
 */
export function review({ api, reviews, toasts, journal, router, later = setTimeout }) {
  const request = sequence()
  return {
    id: /** @type {number | null} */ (null),
    row: /** @type {Review | null} */ (null),
    loss: /** @type {import("./ways.js").Loss} */ (null),
    outlook: NOTHING,
    phase: "closed",
    problem: "",
    /** Somebody else resolved the case while it was open here. */
    resolvedElsewhere: false,
    busy: false,
    form: "",
    draft: { ...BLANK },
    errors: /** @type {Record<string, string>} */ ({}),

    get open() {
      return this.id !== null
    },

    get waits() {
      return this.phase === "ready" && this.row?.state === "open"
    },

    get settled() {
      return this.phase === "ready" && this.row?.state === "resolved"
    },

    get parts() {
      const { old: oldMemory, new: newMemory } = this.row ?? {}
      return oldMemory && newMemory && !this.ofText ? wordDiff(oldMemory.observation, newMemory.observation) : []
    },

    /** Whether a source refutes the memory: then both sides are that memory. */
    get failed() {
      return this.row?.kind === "verification"
    },

    /**
     * Whether the case is about a memory and a text: of its file in a directory, or a relationship that a model found
     * in it.
     */
    get ofText() {
      return ["file", "relationship"].includes(this.row?.kind ?? "")
    },

    get sides() {
      const { old: oldMemory, new: newMemory, sources, exposed, exposed_counts: counts } = this.row ?? {}
      const bothSides = [
        { name: "old", title: t("review.oldMemory"), memory: oldMemory, parts: oldSide(this.parts) },
        { name: "new", title: t("review.newMemory"), memory: newMemory, parts: newSide(this.parts) },
      ]
      const singleSide = [{ name: "old", title: t("review.memory"), memory: oldMemory, parts: [] }]
      const noEvidence = { said: [], sessions: [], others: 0 }
      const title = t(this.row?.kind === "file" ? "review.inFile" : "review.relationship")
      const text = { name: "new", title, memory: null, parts: [], ...noEvidence }
      const sides = (this.failed || this.ofText ? singleSide : bothSides).map((side) => ({
        ...side,
        said: this.phase === "ready" ? reportsOf(side.memory, sources?.[/** @type {"old" | "new"} */ (side.name)]) : [],
        sessions: exposed?.[/** @type {"old" | "new"} */ (side.name)]?.slice(0, NAMED) ?? [],
        others: Math.max(0, (counts?.[/** @type {"old" | "new"} */ (side.name)] ?? 0) - NAMED),
      }))
      return this.ofText ? [...sides, text] : sides
    },

    get ways() {
      return this.row ? waysOf(this.row, this.loss) : []
    },

    /** The way whose form is open. */
    get chosenWay() {
      return this.ways.find(({ resolution }) => resolution === this.form) ?? { verb: "", then: "" }
    },

    /** A preview of both texts while typing. */
    get preview() {
      const { old: oldMemory, new: newMemory } = this.row ?? {}
      if (!oldMemory || !newMemory) return []
      return [scoped(oldMemory.observation, this.draft.old_scope), scoped(newMemory.observation, this.draft.new_scope)]
    },

    get ready() {
      const { old_scope: a, new_scope: b, observation } = this.draft
      if (this.form === "both") return Boolean(a.trim() || b.trim())
      return !this.form || Boolean(observation.trim())
    },

    /** @param {number | null} id */
    async visit(id) {
      if (id === this.id && this.phase === "ready") return
      Object.assign(this, { id, row: null, loss: null, outlook: NOTHING, problem: "", resolvedElsewhere: false })
      this.closeForm()
      this.phase = id === null ? "closed" : "loading"
      if (id !== null) await this.load(id)
    },

    /** @param {number} id */
    async load(id) {
      const current = request()
      try {
        const listedMemory = reviews.rows.find((/** @type {Review} */ candidate) => candidate.id === id)?.old
        const [row, listedHistory] = await Promise.all([
          api.get(`/reviews/${id}`),
          listedMemory && history(listedMemory),
        ])
        const memoryHistory = listedHistory ?? (row.old && (await history(row.old)))
        if (this.id !== id || !current()) return
        this.row = row
        this.loss = lossOf(row, memoryHistory?.items ?? [])
        this.phase = "ready"
        later(() => this.id === id && this.waits && !this.ofText && this.loadForecast(), SOON_MS)
      } catch (problem) {
        if (this.id === id) this.fail(/** @type {any} */ (problem))
      }
    },

    /** The effect of keeping either memory on the next prompt. */
    async loadForecast() {
      const { id, row } = this
      const memories = [row?.new, row?.old]
      const previews = await Promise.all(
        memories.map((side) => side && previewWithout(side)).map((request) => request?.catch(() => null)),
      )
      if (this.id !== id) return
      const [keep_old, keep_new] = previews.map((preview) => (preview ? linesOf(preview.diff) : []))
      this.outlook = { loaded: previews.every(Boolean), keep_new, keep_old }
    },

    /** Postpone this case until the others are resolved. */
    later() {
      if (!this.waits || this.busy || this.id === null) return
      const nextId = reviews.postpone(this.id)
      if (nextId === null || nextId === this.id) return toasts.show(t("review.lastOne"))
      router.go(reviews.address(nextId))
    },

    /** @param {{status: number, message: string}} problem */
    fail(problem) {
      if (this.phase === "ready") return
      this.phase = problem.status === 404 ? "missing" : "failed"
      this.problem = problem.message
    },

    /** @param {Change} change */
    async follow({ id, row }) {
      if (id !== this.id || this.phase !== "ready" || !row || !this.row || row.version <= this.row.version) return
      const wasWaiting = this.waits
      if (this.busy) return
      await this.load(id)
      if (wasWaiting && this.id === id && this.settled) this.resolvedElsewhere = true
    },

    /** A memory of this case changed: load the forecast again. @param {Change} change */
    followMemory({ op, id, row }) {
      if (!this.row || this.id === null || this.busy) return
      const ids = op === "batch" ? row.ids : [id]
      if ([this.row.old?.id, this.row.new?.id].some((memoryId) => ids.includes(memoryId))) this.load(this.id)
    },

    /** Open the form of a resolution that needs input; apply any other at once. @param {Resolution} resolution */
    choose(resolution) {
      if (!this.waits || this.busy) return
      if ((this.failed || this.ofText) && !this.ways.some((choice) => choice.resolution === resolution)) return
      if (!FORMS.includes(resolution)) return this.resolve(resolution, {})
      this.form = resolution
      this.errors = {}
      this.problem = ""
      this.draft = { ...BLANK, observation: this.row?.new?.observation ?? "" }
    },

    closeForm() {
      this.form = ""
      this.errors = {}
      this.problem = ""
    },

    submit() {
      const { old_scope, new_scope, observation } = this.draft
      if (!this.ready || !this.form) return
      const scopes = { ...(old_scope.trim() && { old_scope }), ...(new_scope.trim() && { new_scope }) }
      return this.resolve(/** @type {Resolution} */ (this.form), this.form === "both" ? scopes : { observation })
    },

    /** @param {Resolution} resolution @param {Record<string, string>} extra */
    async resolve(resolution, extra) {
      const { id, version } = /** @type {Review} */ (this.row)
      const body = { resolution: resolution === "reword" ? "keep_new" : resolution, ...extra }
      this.busy = true
      try {
        const row = await api.put(`/reviews/${id}/resolution`, body, `${id}-${version}`)
        this.done(row)
      } catch (problem) {
        await this.refuse(id, /** @type {any} */ (problem))
      } finally {
        this.busy = false
      }
    },

    /** Resolved: open the next case, and offer undo for half a minute. @param {Review} row */
    done(row) {
      const nextId = reviews.beside(row.id, 1) ?? reviews.beside(row.id, -1)
      this.closeForm()
      reviews.showResolved(row)
      toasts.show(decidedWords(row), { undo: journal.undoing() })
      if (this.id !== row.id) return
      this.row = row
      if (nextId !== null && nextId !== row.id && reviews.filters.state === "open") router.go(reviews.address(nextId))
      else this.load(row.id)
    },

    /** @param {number} id @param {{status: number, message: string, errors: {field: string, message: string}[]}} problem */
    async refuse(id, { status, message, errors = [] }) {
      this.errors = Object.fromEntries(errors.map(({ field, message }) => [field, message]))
      this.problem = errors.length ? "" : t("review.unchanged", { why: message })
      if (status !== 409 && status !== 412) return
      await this.load(id)
      if (this.id !== id || !this.row) return
      reviews.showResolved(this.row)
      if (!this.settled) return
      this.closeForm()
      this.resolvedElsewhere = true
    },

    /** Revert a resolution: all its changes are undone, and the case is open again. @param {number} id */
    async reopen(id) {
      await this.reopened(await api.remove(`/reviews/${id}/resolution`))
      toasts.show(t("review.openAgain"))
    },

    /** @param {Review} row */
    async reopened(row) {
      const { id } = row
      reviews.showResolved(row)
      if (this.id === id) await this.load(id)
      else if (router.page === "reviews") router.go(reviews.address(id))
    },

    async undo() {
      if (!this.settled || this.busy || this.row?.resolution === "gone") return
      const { id } = /** @type {Review} */ (this.row)
      this.busy = true
      this.problem = ""
      try {
        await this.reopen(id)
        this.resolvedElsewhere = false
      } catch (problem) {
        this.problem = t("review.notUndone", { why: /** @type {Error} */ (problem).message })
      } finally {
        this.busy = false
      }
    },
  }

  /** @param {Memory} memory @returns {Promise<any>} */
  function history({ id }) {
    return api.get(`/memories/${id}/history`).catch(() => null)
  }

  /** The next prompt without this memory. @param {Memory} memory @returns {Promise<any>} */
  function previewWithout({ id, service }) {
    const services = service ?? ""
    return api.get("/context", { tier: 1, services, sections: "operational", exclude: id, compare_to: "now" })
  }
}

/**
 * The reports of a claim; for an extracted memory, the organizer.
 * @param {Memory | null | undefined} memory
 * @param {ReportSource[]} [reports]
 */
function reportsOf(memory, reports = []) {
  return reports.map((report) => ({
    ...report,
    extracted: memory?.source === "extracted" && report.cause === "created",
  }))
}

/** @param {{added: string[], removed: string[]}} diff @returns {PromptLine[]} */
function linesOf({ added, removed }) {
  return [
    ...removed.map((text) => ({ key: `gone${text}`, part: [{ kind: /** @type {const} */ ("gone"), text }] })),
    ...added.map((text) => ({ key: `new${text}`, part: [{ kind: /** @type {const} */ ("new"), text }] })),
  ]
}
