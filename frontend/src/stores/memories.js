import { count, serviceName } from "../format.js"
import { extend, liveList } from "./list.js"

const SORTS = ["confidence", "updated", "created", "service"]
const COUNT_AGAIN_MS = 400
const NAMELESS = "\u{10ffff}" // general, which has no name, comes last

/** What the address says about the list. @param {URLSearchParams} params */
export function memoryFilters(params) {
  const sort = params.get("sort") ?? ""
  const state = params.get("state") ?? ""
  return {
    q: params.get("q") ?? "",
    service: params.get("service") ?? "",
    category: params.get("category") ?? "",
    state: ["active", "inactive"].includes(state) ? state : "",
    sort: SORTS.includes(sort) ? sort : "",
    as_of: moment(params.get("as_of")),
  }
}

/** A moment as the API takes it; what is none is left out. @param {string | null} text */
function moment(text) {
  const time = Date.parse(text ?? "")
  return Number.isNaN(time) ? "" : new Date(time).toISOString()
}

/** @typedef {ReturnType<typeof memoryFilters>} MemoryFilters */

/** Would the server list this memory under these filters? @param {Memory} memory @param {MemoryFilters} filters */
export function memoryMatches(memory, { q, service, category, state }) {
  return (
    (!q || memory.observation.toLowerCase().includes(q.toLowerCase())) &&
    (!service || (memory.service ?? "general") === service) &&
    (!category || memory.category === category) &&
    (!state || memory.active === (state === "active"))
  )
}

/** @param {string} sort @returns {(a: Memory, b: Memory) => number} */
export function memoryOrder(sort) {
  if (sort === "updated") return (a, b) => text(b.updated_at, a.updated_at) || a.id - b.id
  if (sort === "created") return (a, b) => b.id - a.id
  if (sort === "service")
    return (a, b) => text(a.service ?? NAMELESS, b.service ?? NAMELESS) || b.confidence - a.confidence || a.id - b.id
  return (a, b) => b.confidence - a.confidence || text(b.updated_at, a.updated_at) || a.id - b.id
}

/** @param {string} a @param {string} b */
function text(a, b) {
  return a < b ? -1 : a > b ? 1 : 0
}

/**
 * The memories the operator sees.
 * @param {{api: Api, feed: Feed, router: any, later?: (run: () => void, ms: number) => any}} with_
 */
export function memories({ api, feed, router, later = setTimeout }) {
  let filters = memoryFilters(new URLSearchParams())
  let counting = false
  const list = liveList({
    api,
    feed,
    later,
    path: "/memories",
    entity: "memory",
    query: () => ({ ...filters, limit: 50 }),
    matches: (/** @type {Memory} */ memory) => memoryMatches(memory, filters),
    compare: (a, b) => memoryOrder(filters.sort)(a, b),
  })
  return extend(list, {
    filters,
    facets: {
      services: /** @type {{service: string | null, count: number}[]} */ ([]),
      categories: /** @type {{category: string, count: number}[]} */ ([]),
      states: { active: 0, inactive: 0 },
    },
    active: 0,
    known: false,
    chosen: /** @type {Record<number, boolean>} */ ({}),
    /** Not only the rows that are ticked, but all that match. */
    everything: false,

    /** Follow the address: other filters are another list, the same ones are left as they are. @param {URLSearchParams} params */
    visit(params) {
      filters = memoryFilters(params)
      const same = this.phase === "ready" && JSON.stringify(filters) === JSON.stringify(this.filters)
      this.filters = filters
      if (same) return
      this.unchoose()
      this.load()
      this.tally()
    },

    reload() {
      this.load()
      this.tally()
    },

    /** @param {Change} change */
    follow(change) {
      if (this.phase === "ready" && !this.past) this.apply(change)
      if (change.op === "deleted") delete this.chosen[change.id]
      this.tallySoon()
    },

    /** The counts beside the filters, and the one in the sidebar, which no filter changes. */
    async tally() {
      const { sort: _, ...rest } = filters
      try {
        this.facets = await api.get("/memories/facets", rest)
        const all = this.filtered || this.past ? await api.get("/memories/facets") : this.facets
        this.active = all.states.active
        this.known = true
      } catch {
        this.known = false
      }
    },

    /** Counts follow a burst of changes once, not each of them. */
    tallySoon() {
      if (counting) return
      counting = true
      later(() => {
        counting = false
        this.tally()
      }, COUNT_AGAIN_MS)
    },

    get filtered() {
      return Object.entries(this.wanted).length > 0
    },

    /** What narrows the list, as the API takes it: neither an order nor a moment. */
    get wanted() {
      const { sort: _, as_of: __, ...rest } = this.filters
      return Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== ""))
    },

    /** Is it shown as it once was? Nothing can be changed then. */
    get past() {
      return this.filters.as_of !== ""
    },

    /** The rows under their services where the list is sorted by them; else all of them under no name. */
    get groups() {
      if (this.filters.sort !== "service") return [{ key: "", name: "", n: null, rows: this.shown }]
      return grouped(this.shown).map(({ service, rows }) => ({
        key: service ?? "",
        name: serviceName(service),
        n: this.facets.services.find((/** @type {any} */ each) => each.service === service)?.count ?? null,
        rows,
      }))
    },

    get pill() {
      return count(this.waiting.length, "new memory", "new memories")
    },

    get summary() {
      if (this.total === null) return count(this.rows.length, "memory", "memories")
      return count(this.total, "memory", "memories")
    },

    get inAll() {
      return this.facets.states.active + this.facets.states.inactive
    },

    /** @param {string} column */
    sortedBy(column) {
      if ((this.filters.sort || "confidence") !== column) return "none"
      return column === "service" ? "ascending" : "descending"
    },

    /** @param {string} sort */
    sortBy(sort) {
      router.go(router.with({ sort: sort === "confidence" ? "" : sort }))
    },

    /** @param {Record<string, any>} changes @param {{replace?: boolean}} [how] */
    filter(changes, how) {
      router.go(router.with(changes), how)
    },

    /** Typing narrows the list at once, without a step in the history for each letter. @param {string} q */
    type(q) {
      this.filter({ q: q.trim() }, { replace: true })
    },

    clear() {
      router.go(router.with({ q: "", service: "", category: "", state: "" }))
    },

    get chosenIds() {
      return this.rows
        .filter((/** @type {Memory} */ row) => this.chosen[row.id])
        .map((/** @type {Memory} */ row) => row.id)
    },

    get chosenCount() {
      return this.everything ? (this.total ?? 0) : this.chosenIds.length
    },

    /** All in sight are ticked, and there are more that match. */
    get mayChooseEverything() {
      return !this.everything && this.allChosen && (this.total ?? 0) > this.chosenIds.length
    },

    chooseEverything() {
      this.everything = true
    },

    unchoose() {
      this.chosen = {}
      this.everything = false
    },

    get allChosen() {
      return this.shown.length > 0 && this.shown.every((/** @type {Memory} */ row) => this.chosen[row.id])
    },

    /** @param {boolean} on */
    chooseAll(on) {
      this.everything = false
      this.chosen = on ? Object.fromEntries(this.shown.map((/** @type {Memory} */ row) => [row.id, true])) : {}
    },

    /** @param {number} id @param {boolean} on */
    choose(id, on) {
      this.everything = false
      if (on) this.chosen[id] = true
      else delete this.chosen[id]
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
