import { BUDGET_LIMIT } from "../../../generated/values.js"
import { ago, serviceNames } from "../../shared/format/format.js"
import { previewRows, scaleOf, segments } from "./rows.js"
import { t } from "../../shared/texts/index.js"
import { previewSearch } from "./search.js"

const PAUSE_MS = 120
const SHOWN = 100
const IN_LINES = 600

const NOTHING = /** @type {PromptContext} */ ({
  text: "",
  system: "",
  prompt: "",
  tokens: 0,
  budget: 0,
  in_force: 0,
  total: 0,
  included: [],
  excluded: [],
  seq: 0,
})

/** The query in the address. @param {URLSearchParams} params */
export function previewQuery(params) {
  const tier = Number(params.get("tier"))
  const budget = params.get("budget") ?? ""
  const against = params.get("against") ?? ""
  const moment = Date.parse(params.get("as_of") ?? "")
  return {
    tier: tier === 2 || tier === 3 ? tier : 1,
    services: split(params.get("services")),
    budget: /^\d{1,9}$/.test(budget) ? Math.min(BUDGET_LIMIT, Number(budget)) : null,
    against: /^[1-9]\d{0,14}$/.test(against) ? against : "",
    as_of: Number.isNaN(moment) ? "" : new Date(moment).toISOString(),
    without: split(params.get("without")).map(Number).filter(Number.isSafeInteger),
  }
}

/** @param {string | null} text */
function split(text) {
  return [...new Set((text ?? "").split(",").map((part) => part.trim()))].filter(Boolean)
}

/** @typedef {ReturnType<typeof previewQuery>} PreviewQuery */

/**
 * The prompt of a session that starts now, and the prompt under another budget or without some memories.
 * @param {{api: Api, router: any, services: any, clock: any, later?: (run: () => void, ms: number) => any}} dependencies
 */
export function preview({ api, router, services, clock, later = setTimeout }) {
  let lastRequestId = 0
  let lastMoveId = 0
  return {
    phase: "loading",
    problem: "",
    busy: false,
    here: false,
    query: previewQuery(new URLSearchParams()),
    /** The current prompt, and the requested variant. */
    base: NOTHING,
    context: NOTHING,
    /** The budget of the slider; the response follows. */
    budget: 0,
    /** A search for any memory. */
    found: previewSearch({ api, later }),
    /** The number of memory changes since the prompt was read. */
    since: 0,
    diff: /** @type {PromptContext["diff"] | null} */ (null),
    compareProblem: "",
    sessions: /** @type {Session[]} */ ([]),
    shownRows: SHOWN,
    /** The highlighted memory. */
    lit: /** @type {number | null} */ (null),

    /** @param {URLSearchParams} params */
    visit(params) {
      const query = previewQuery(params)
      const isUnchanged = this.here && this.phase === "ready" && JSON.stringify(query) === JSON.stringify(this.query)
      const keepsBase = this.here && this.phase === "ready" && this.since === 0 && about(query) === about(this.query)
      if (!this.here) this.readSessions()
      this.here = true
      this.query = query
      if (query.budget !== null) this.budget = query.budget
      if (!isUnchanged) return this.read(keepsBase)
    },

    exit() {
      lastRequestId++
      this.here = false
    },

    load() {
      return this.read(false)
    },

    /** Load the requested prompt; `kept`: the current prompt is already loaded. @param {boolean} keepsBase */
    async read(keepsBase) {
      const requestId = ++lastRequestId
      const { query } = this
      this.busy = true
      try {
        const baseQuery = { tier: query.tier, services: query.services.join(","), as_of: query.as_of }
        const base = keepsBase ? this.base : await api.get("/context", baseQuery)
        const variant = otherwise(query) ? await this.ask(baseQuery, query) : { context: base, problem: "" }
        if (requestId === lastRequestId) this.take(base, variant, keepsBase)
      } catch (problem) {
        if (requestId === lastRequestId) this.fail(/** @type {Error} */ (problem))
      }
      if (requestId === lastRequestId) this.busy = false
    },

    /**
     * Without the session to compare with, the prompt is still shown.
     * @param {Record<string, any>} baseQuery
     * @param {PreviewQuery} query
     */
    async ask(baseQuery, { budget, without, against }) {
      const variantQuery = { ...baseQuery, budget, exclude: without.join(",") }
      try {
        return { context: await api.get("/context", { ...variantQuery, compare_to: against }), problem: "" }
      } catch (problem) {
        const { status, message } = /** @type {any} */ (problem)
        if (!against || status !== 404) throw problem
        return { context: await api.get("/context", variantQuery), problem: message }
      }
    },

    /** @param {PromptContext} base @param {{context: PromptContext, problem: string}} found @param {boolean} keepsBase */
    take(base, { context, problem }, keepsBase) {
      if (!keepsBase) this.since = 0
      this.base = base
      this.context = context
      this.diff = context.diff ?? null
      this.compareProblem = problem
      if (!this.moving) this.budget = context.budget
      this.phase = "ready"
      this.problem = ""
      if (this.found.q) this.found.read(this.query)
    },

    /** @param {Error} problem */
    fail(problem) {
      this.problem = problem.message
      if (this.phase !== "ready") this.phase = "failed"
    },

    async readSessions() {
      const page = await api.get("/sessions", { limit: 20 }).catch(() => null)
      if (page) this.sessions = page.items
    },

    /** A memory changed: the prompt that is being read stays, only a note appears. @param {Change} change */
    follow({ op, row }) {
      if (!this.here || this.query.as_of) return
      this.since += op === "batch" ? (row?.ids?.length ?? 1) : 1
    },

    moving: false,

    /** While the slider moves, only the last position counts. @param {number | string} value */
    move(value) {
      const budget = value === "" ? NaN : Math.round(Number(value))
      if (!(budget >= 0)) return
      this.budget = Math.min(BUDGET_LIMIT, budget)
      this.moving = true
      const moveId = ++lastMoveId
      later(() => moveId === lastMoveId && this.settle(), PAUSE_MS)
    },

    settle() {
      this.moving = false
      const budget = this.budget === this.base.in_force ? "" : String(this.budget)
      this.set({ budget }, { replace: true })
    },

    /** @param {Record<string, any>} changes @param {{replace?: boolean}} [options] */
    set(changes, options) {
      router.go(router.with(changes), options)
    },

    /** @param {number} tier */
    choose(tier) {
      this.set({ tier: tier === 1 ? "" : String(tier) })
    },

    /** @param {string} name */
    addService(name) {
      if (name) this.set({ services: [...this.query.services, name].join(",") })
    },

    /** @param {string} name */
    removeService(name) {
      this.set({ services: this.query.services.filter((service) => service !== name).join(",") })
    },

    /** Include or exclude a memory. @param {number} id */
    toggle(id) {
      const { without } = this.query
      const now = without.includes(id) ? without.filter((other) => other !== id) : [...without, id]
      this.set({ without: now.join(",") }, { replace: true })
    },

    /** @param {string | number} number */
    compare(number) {
      const against = String(number).trim()
      if (against === "" || /^[1-9]\d{0,14}$/.test(against)) this.set({ against }, { replace: true })
    },

    reset() {
      this.set({ budget: "", without: "" })
    },

    get changed() {
      return this.query.budget !== null || this.query.without.length > 0
    },

    get rows() {
      return previewRows(this.base, this.context, this.query.without)
    },

    get shown() {
      return this.rows.slice(0, this.shownRows)
    },

    get scale() {
      return scaleOf(this.budget, this.base.in_force)
    },

    get segments() {
      return segments(this.context, this.scale)
    },

    /** The lines of the prompt, each with its memory; empty if there are too many to mark. */
    get lines() {
      const lines = this.context.text.split("\n")
      if (lines.length > IN_LINES) return []
      const ids = new Map(this.context.included.map(({ id, line }) => [line, id]))
      return lines.map((text, at) => ({
        key: at,
        text: at < lines.length - 1 ? `${text}\n` : text,
        id: ids.get(text) ?? null,
      }))
    },

    get empty() {
      return this.phase === "ready" && this.base.total === 0
    },

    /** Requested services that are not declared. */
    get unknown() {
      if (!services.loaded) return []
      const names = services.names.map((/** @type {string} */ name) => name.toLowerCase())
      return this.query.services.filter((name) => !names.includes(name.toLowerCase()))
    },

    get pill() {
      return t("preview.since", { n: this.since })
    },

    /** The effect of the budget and the excluded memories on the prompt, in one sentence. */
    get effect() {
      if (!this.changed) return t("preview.atActive")
      const count = (/** @type {string} */ state) => this.rows.filter((row) => row.state === state).length
      const [n, m, lead] = [count("falls"), count("comes"), this.lead]
      if (n && m) return t("preview.both", { lead, n, m })
      if (n) return t("preview.drops", { lead, n })
      return m ? t("preview.enters", { lead, n: m }) : t("preview.noChange", { lead })
    },

    get lead() {
      const { without } = this.query
      const { budget, in_force: configured } = this.context
      if (!without.length) return t("preview.atBudget", { n: budget })
      if (budget === configured) return t("preview.without", { n: without.length })
      return t("preview.atWithout", { n: without.length, budget })
    },

    get sum() {
      const { included, total, tokens, budget } = this.context
      return budget === 0 ? t("preview.sumOff") : t("preview.sum", { n: included.length, all: total, tokens, budget })
    },

    get comparison() {
      if (!this.diff) return ""
      const { against: id, text, added, removed } = this.diff
      if (!text) return t("preview.same", { id })
      if (!added.length && !removed.length) return t("preview.reordered", { id })
      const gone = t("preview.lacks", { n: removed.length })
      return t("preview.differs", { id, gone, come: t("preview.newTo", { n: added.length }) })
    },

    /** The lines that only the prompt of session N has, then those that only this prompt has. */
    get sides() {
      if (!this.diff) return []
      const { against: id, removed, added } = this.diff
      return [side("gone", t("preview.onlyThen", { id }), removed), side("new", t("preview.onlyHere"), added)].filter(
        ({ lines }) => lines.length > 0,
      )
    },

    /** @returns {{id: string, words: string}[]} */
    get choices() {
      const { against } = this.query
      const isUnlisted = against && !this.sessions.some(({ id }) => String(id) === against)
      const choices = this.sessions.map(({ id, tier, services, started_at }) => ({
        id: String(id),
        words: t("preview.session", {
          id: String(id),
          tier,
          services: serviceNames(services),
          ago: ago(started_at, clock.now),
        }),
      }))
      return isUnlisted ? [{ id: against, words: `#${against}` }, ...choices] : choices
    },
  }
}

/** @param {string} kind @param {string} title @param {string[]} texts */
function side(kind, title, texts) {
  return { kind, title, lines: texts.map((text, key) => ({ key, text })) }
}

/** The query fields that the current prompt depends on. @param {PreviewQuery} query */
function about({ tier, services, as_of }) {
  return JSON.stringify([tier, services, as_of])
}

/** Whether the query differs from the current prompt. @param {PreviewQuery} query */
function otherwise({ budget, without, against }) {
  return budget !== null || without.length > 0 || against !== ""
}
