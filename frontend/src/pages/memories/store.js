import { sequence } from "../../shared/browser/sequence.js"
import { FALLING, MEMORY_ORDERS, NAMELESS, VIEWS } from "../../../generated/values.js"
import { isOperational, serviceName } from "../../shared/format/format.js"
import { t } from "../../shared/texts/index.js"
import { extend, liveList } from "../../shared/stores/list.js"
import { selection } from "../../shared/stores/selection.js"

export const SECTIONS = ["knowledge", "all"]
const STATES = ["active", "inactive", "review"]
const OPENS = 25 // enough rows for a screen first, the rest right after
const COUNT_AGAIN_MS = 400

/** The filters of the list in the address. @param {URLSearchParams} params */
export function memoryFilters(params) {
  const choice = (/** @type {string} */ name, /** @type {readonly string[]} */ allowed) => {
    const value = params.get(name) ?? ""
    return allowed.includes(value) ? value : ""
  }
  const as_of = moment(params.get("as_of"))
  const state = choice("state", STATES)
  return {
    q: params.get("q") ?? "",
    service: params.get("service") ?? "",
    category: params.get("category") ?? "",
    section: choice("section", SECTIONS),
    project: params.get("project") ?? "",
    session: /^[1-9]\d{0,14}$/.test(params.get("session") ?? "") ? (params.get("session") ?? "") : "",
    state: as_of && state === "review" ? "" : state,
    view: as_of ? "" : choice("view", VIEWS),
    sort: choice("sort", Object.keys(MEMORY_ORDERS)),
    order: choice("order", ["asc", "desc"]),
    group: choice("group", ["service"]),
    as_of,
  }
}

/** A time as the API accepts it; an invalid text is left out. @param {string | null} text */
function moment(text) {
  const time = Date.parse(text ?? "")
  return Number.isNaN(time) ? "" : new Date(time).toISOString()
}

/** @typedef {ReturnType<typeof memoryFilters>} MemoryFilters */

/**
 * Operational memories, unless another section is chosen or a filter covers both sections. Empty means both.
 * @param {Pick<MemoryFilters, "section" | "category" | "project" | "session">} filters
 */
export function sectionOf({ section, category, project, session }) {
  if (section) return section === "all" ? "" : section
  return category || project || session ? "" : "operational"
}

/**
 * Whether the server would list this memory under these filters. Views and reviews are known to the server only.
 * @param {Memory} memory
 * @param {MemoryFilters} filters
 */
export function memoryMatches(memory, filters) {
  const { q, service, category, project, session, state, view } = filters
  const section = sectionOf(filters)
  return (
    (!section || (section === "operational") === isOperational(memory.category)) &&
    !view &&
    state !== "review" &&
    (!q || `${memory.title}\n${memory.observation}`.toLowerCase().includes(q.toLowerCase())) &&
    (!project || memory.project === project.toLowerCase()) &&
    (!service || (memory.service ?? "general") === service) &&
    (!session || String(memory.session_id) === session) &&
    (!category || memory.category === category) &&
    (!state || memory.active === (state === "active"))
  )
}

/** @typedef {(a: Memory, b: Memory) => number} Order */
const byService = byColumn("service", false)

/** The sort order of the server. @param {{sort?: string, order?: string, group?: string}} asked @returns {Order} */
export function memoryOrder({ sort: requestedSort = "", order = "", group = "" }) {
  const sort = /** @type {keyof typeof MEMORY_ORDERS} */ (requestedSort || "confidence")
  const isReversed = order !== "" && order !== natural(sort)
  const reversesAll = FALLING.includes(sort)
  const keys = MEMORY_ORDERS[sort].map(([name, isDescending], at) =>
    byColumn(name, isDescending !== (isReversed && (reversesAll || at === 0))),
  )
  if (group && sort !== "service") keys.unshift(byService)
  return (a, b) => keys.reduce((result, key) => result || key(a, b), 0)
}

/** The default direction of a column. @param {string} sort */
function natural(sort) {
  return FALLING.includes(sort) ? "desc" : "asc"
}

/**
 * Order by one column: general memories have no service, and memories written by a person have no session.
 * @param {keyof Memory} name
 * @param {boolean} isDescending
 * @returns {Order}
 */
function byColumn(name, isDescending) {
  const value = (/** @type {Memory} */ row) => row[name] ?? (name === "service" ? NAMELESS : 0)
  const compare = (/** @type {any} */ a, /** @type {any} */ b) => (a < b ? -1 : a > b ? 1 : 0)
  return (a, b) => (isDescending ? compare(value(b), value(a)) : compare(value(a), value(b)))
}

/**
 * The memories the operator sees.
 * @param {{api: Api, feed: Feed, router: any, later?: (run: () => void, ms: number) => any}} dependencies
 */
export function memories({ api, feed, router, later = setTimeout }) {
  let filters = memoryFilters(new URLSearchParams())
  let counting = false
  const request = sequence()
  const list = liveList({
    api,
    feed,
    later,
    opens: OPENS,
    path: "/memories",
    entity: "memory",
    query: () => ({ ...filters, section: sectionOf(filters), limit: 50 }),
    matches: (/** @type {Memory} */ memory) => memoryMatches(memory, filters),
    compare: (a, b) => memoryOrder(filters)(a, b),
    byIds: async (/** @type {number[]} */ ids) => (await api.get("/memories", { ids, limit: ids.length })).items,
  })
  return extend(extend(list, selection()), {
    filters,
    facets: {
      services: /** @type {{service: string | null, count: number}[]} */ ([]),
      categories: /** @type {{category: string, count: number}[]} */ ([]),
      projects: /** @type {{project: string, count: number}[]} */ ([]),
      states: { active: 0, inactive: 0, review: 0 },
    },
    views: /** @type {Record<string, number>} */ ({}),
    active: 0,
    loaded: false,
    /** The list is out of date, because its filter can be evaluated by the server only. */
    outdated: false,
    /** Whether a bulk change happened since the list was read: only the server knows which of its memories match. */
    many: false,

    /**
     * Follow the address: other filters load another list, the same filters change nothing.
     * @param {URLSearchParams} params
     */
    visit(params) {
      filters = memoryFilters(params)
      const isUnchanged = this.phase === "ready" && JSON.stringify(filters) === JSON.stringify(this.filters)
      this.filters = filters
      if (isUnchanged) return
      this.unchoose()
      this.reload()
    },

    /** Load the rows first; the counts may follow. */
    async reload() {
      this.outdated = this.many = false
      await this.load()
      await this.tally()
    },

    /** @param {Change} change */
    follow(change) {
      if (this.phase === "ready" && !this.historical) this.apply(change)
      this.many ||= change.op === "batch"
      if (change.op === "deleted") delete this.chosen[change.id]
      this.tallySoon()
    },

    /** The counts beside the filters, and the one in the sidebar, which ignores filters. */
    async tally() {
      const usedFilters = filters
      const current = request()
      const { sort: _, order: __, group: ___, ...rest } = usedFilters
      try {
        const facets = await api.get("/memories/facets", { ...rest, section: sectionOf(usedFilters) })
        if (!current()) return
        if (usedFilters === filters) this.facets = facets
        const allFacets =
          this.filtered || this.historical ? await api.get("/memories/facets", { section: "operational" }) : facets
        if (!current()) return
        this.active = allFacets.states.active
        this.loaded = true
        await this.tallyViews(usedFilters)
      } catch {
        if (current()) this.loaded = false
      }
    },

    /** @param {MemoryFilters} usedFilters */
    async tallyViews(usedFilters) {
      if (this.historical || !this.here) return
      const { views } = await api.get("/memories/views", this.wanted)
      if (usedFilters !== filters) return
      this.views = views
      const { state, view } = usedFilters
      const stateTotal = state ? this.facets.states[/** @type {"active"} */ (state)] : this.inAll
      const isPlainList = view === "" && state !== "review"
      const expectedTotal = isPlainList && !this.many ? this.total : view ? views[view] : stateTotal
      const hasMismatch = isPlainList && this.rows.some((/** @type {Memory} */ row) => !memoryMatches(row, usedFilters))
      this.outdated = this.phase === "ready" && (hasMismatch || expectedTotal !== this.total)
    },

    /** Whether the page itself is open: the counts are needed only there. */
    get here() {
      return router.page === "memories"
    },

    /** Reload the counts once after a burst of changes. */
    tallySoon() {
      if (counting) return
      counting = true
      later(() => {
        counting = false
        this.tally()
      }, COUNT_AGAIN_MS)
    },

    get filtered() {
      const { section: _, ...rest } = this.wanted
      return this.filters.section !== "" || Object.keys(rest).length > 0
    },

    /** The filters as the API accepts them, without the order and the point in time. */
    get wanted() {
      const { sort: _, order: __, group: ___, as_of: ____, ...rest } = this.filters
      const query = { ...rest, section: sectionOf(this.filters) }
      return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== ""))
    },

    /** Whether the list shows a point in the past, which cannot be changed. */
    get historical() {
      return this.filters.as_of !== ""
    },

    /** The rows grouped by service if requested; otherwise one group without a name. */
    get groups() {
      if (this.filters.group === "") return [{ key: "", name: "", n: null, rows: this.shown }]
      return grouped(this.shown).map(({ service, rows }) => ({
        key: service ?? "",
        name: serviceName(service),
        n: this.facets.services.find((/** @type {any} */ facet) => facet.service === service)?.count ?? null,
        rows,
      }))
    },

    get pill() {
      return t("memories.new", { n: this.waiting.length })
    },

    get summary() {
      return t("common.memories", { n: this.total ?? this.rows.length })
    },

    get inAll() {
      return this.facets.states.active + this.facets.states.inactive
    },

    get sort() {
      return this.filters.sort || "confidence"
    },

    get order() {
      return this.filters.order || natural(this.sort)
    },

    /** @param {string} column */
    sortedBy(column) {
      if (this.sort !== column) return "none"
      return this.order === "asc" ? "ascending" : "descending"
    },

    /** Sort by a column; by the same column again, in the opposite direction. @param {string} sort */
    sortBy(sort) {
      if (sort === this.sort) return this.turnOrder()
      this.filter({ sort: sort === "confidence" ? "" : sort, order: "" })
    },

    turnOrder() {
      const order = this.order === "asc" ? "desc" : "asc"
      this.filter({ order: order === natural(this.sort) ? "" : order })
    },

    /** @param {Record<string, any>} changes @param {{replace?: boolean}} [options] */
    filter(changes, options) {
      router.go(router.with(changes), options)
    },

    /** Typing filters the list at once, without a history entry for each letter. @param {string} q */
    type(q) {
      this.filter({ q: q.trim() }, { replace: true })
    },

    clear() {
      router.go(
        router.with({ q: "", service: "", category: "", section: "", project: "", session: "", state: "", view: "" }),
      )
    },

    /** Show a row with the expected result of an edit; never overwrite a newer version. @param {Memory} row */
    showPredicted(row) {
      const isSameRow = (/** @type {Memory} */ candidate) =>
        candidate.id === row.id && candidate.version === row.version
      const at = this.rows.findIndex(isSameRow)
      if (at >= 0) this.rows[at] = row
    },
  })
}

/** @param {Memory[]} rows by service */
function grouped(rows) {
  /** @type {Map<string | null, Memory[]>} */
  const groups = new Map()
  for (const row of rows) groups.set(row.service, [...(groups.get(row.service) ?? []), row])
  return [...groups].map(([service, rows]) => ({ service, rows }))
}
