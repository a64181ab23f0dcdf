import { DEFAULT_LAYERS, LAYERS, MEMORY_KINDS, SEARCH_LIMIT } from "../../../generated/values.js"
import { byLayer, keyOf, rowOf } from "./hits.js"
import { throttle } from "../../shared/browser/throttle.js"
import { t } from "../../shared/texts/index.js"

const KEY = "lamplighter.searches"
/** Delays before a partial result is completed automatically, in ms: one attempt each. */
const RETRIES_MS = [1_000, 2_000, 4_000, 8_000]
const RECENT = 8
const FIRST = 20
const STATES = ["active", "inactive", "all"]
const HOUR_MS = 3_600_000
/** @type {Record<string, number>} how many hours back */
export const SINCE = { "1d": 24, "7d": 168, "30d": 720, "365d": 8_760 }

/** The query in the address. @param {URLSearchParams} params */
export function searchQuery(params) {
  const choice = (/** @type {string} */ name, /** @type {readonly string[]} */ allowed) => {
    const value = params.get(name) ?? ""
    return allowed.includes(value) ? value : ""
  }
  const layers = (params.get("layers") ?? "").split(",")
  const chosenLayers = LAYERS.filter((layer) => layers.includes(layer))
  return {
    q: (params.get("q") ?? "").trim(),
    service: params.get("service") ?? "",
    category: params.get("category") ?? "",
    project: params.get("project") ?? "",
    kind: choice("kind", MEMORY_KINDS),
    tag: params.get("tag") ?? "",
    since: choice("since", Object.keys(SINCE)),
    state: choice("state", STATES),
    layers: chosenLayers.length ? chosenLayers.join(",") : DEFAULT_LAYERS.join(","),
  }
}

/** @typedef {ReturnType<typeof searchQuery>} SearchQuery */

/** The query as the server accepts it. @param {SearchQuery} query @param {number} now */
export function searchParams({ since, ...query }, now) {
  return { ...query, since: since && new Date(now - SINCE[since] * HOUR_MS).toISOString() }
}

const NOTHING = /** @type {SearchResults} */ ({
  items: [],
  next: null,
  seq: 0,
  terms: [],
  partial: false,
  missing: [],
  layers: [],
  filters: [],
})

/**
 * Search results from all layers. Earlier results stay visible until the response arrives.
 * @param {{api: Api, feed: Feed, router: any, storage: Pick<Storage, "getItem" | "setItem" | "removeItem">, now?: () => number,
 *   later?: (run: () => void, ms: number) => unknown}} dependencies
 */
export function search({ api, feed, router, storage, now = Date.now, later = setTimeout }) {
  let lastRequestId = 0
  let reloadSoon = () => {}
  return {
    phase: "idle",
    problem: "",
    busy: false,
    here: false,
    query: searchQuery(new URLSearchParams()),
    /** The query of the visible results. */
    answered: "",
    found: NOTHING,
    limit: FIRST,
    /** Hits that were deleted since. */
    gone: /** @type {Record<string, boolean>} */ ({}),
    /** The number of attempts to complete a partial result. */
    tries: 0,
    /** The hit whose score is explained. */
    open: "",
    recent: kept(storage),
    facets: {
      services: /** @type {{service: string | null, count: number}[]} */ ([]),
      categories: /** @type {{category: string, count: number}[]} */ ([]),
      projects: /** @type {{project: string, count: number}[]} */ ([]),
    },

    /** @param {URLSearchParams} params */
    visit(params) {
      const query = searchQuery(params)
      const isUnchanged = this.phase === "ready" && JSON.stringify(query) === JSON.stringify(this.query)
      if (!this.here) {
        reloadSoon = throttle(() => this.here && this.refresh(), { later })
        this.count()
      }
      this.here = true
      this.query = query
      if (isUnchanged) return
      this.limit = FIRST
      return this.load()
    },

    exit() {
      lastRequestId++
      this.here = false
      this.busy = false
    },

    async load() {
      this.tries = 0
      return this.fetch()
    },

    async fetch() {
      const requestId = ++lastRequestId
      if (!this.query.q) return this.rest()
      this.busy = true
      if (this.phase !== "ready") this.phase = "loading"
      try {
        const response = await this.ask()
        if (requestId === lastRequestId) this.take(response)
      } catch (problem) {
        if (requestId === lastRequestId) this.fail(/** @type {Error} */ (problem))
      }
      if (requestId === lastRequestId) this.busy = false
    },

    /** @returns {Promise<SearchResults>} */
    ask() {
      return api.get("/search", { ...searchParams(this.query, now()), limit: this.limit })
    },

    /** There is no query. */
    rest() {
      Object.assign(this, { phase: "idle", found: NOTHING, answered: "", busy: false, problem: "", gone: {}, open: "" })
    },

    /** @param {SearchResults} response */
    take(response) {
      this.found = response
      this.answered = this.query.q
      this.gone = {}
      this.phase = "ready"
      this.complete()
      this.problem = ""
      for (const layer of LAYERS)
        feed.replay(response.seq, layer, (/** @type {Change} */ change) => this.follow(layer, change))
    },

    /** Whether the page will request the missing parts again by itself. */
    get retrying() {
      return this.found.partial && this.tries < RETRIES_MS.length
    },

    complete() {
      if (!this.retrying) return
      const requestId = lastRequestId
      later(() => {
        if (requestId !== lastRequestId || !this.here) return undefined
        this.tries++
        return this.fetch()
      }, RETRIES_MS[this.tries])
    },

    /** @param {Error} problem */
    fail(problem) {
      this.problem = problem.message
      if (this.phase !== "ready") this.phase = "failed"
    },

    async count() {
      const facets = await api.get("/memories/facets").catch(() => null)
      if (facets) this.facets = { projects: [], ...facets }
    },

    /** A visible hit that changed is reloaded in place. @param {string} layer @param {Change} change */
    follow(layer, { op, id, row }) {
      const ids = op === "batch" ? (row?.ids ?? []) : [id]
      const shownHits = this.found.items.filter((hit) => hit.layer === layer && ids.includes(rowOf(hit)?.id))
      if (!shownHits.length) return
      if ((op === "batch" ? row?.op : op) === "deleted") for (const hit of shownHits) this.gone[keyOf(hit)] = true
      else if (op === "batch" || shownHits.some((hit) => rowOf(hit).version < row.version)) reloadSoon()
    },

    /** Reload each hit in place, so that the reader is not disturbed. */
    async refresh() {
      const requestId = lastRequestId
      const response = await this.ask().catch(() => null)
      if (!response || requestId !== lastRequestId || this.phase !== "ready") return
      const freshHits = new Map(response.items.map((hit) => [keyOf(hit), hit]))
      const items = this.found.items.map((hit) => freshHits.get(keyOf(hit)) ?? hit)
      for (const hit of items) this.gone[keyOf(hit)] = !freshHits.has(keyOf(hit))
      this.found = { ...this.found, items }
    },

    /** @param {Record<string, any>} changes @param {{replace?: boolean}} [options] */
    filter(changes, options) {
      router.go(router.with(changes), options)
    },

    /** Typing searches at once, without a history entry for each letter. @param {string} q */
    type(q) {
      if (q.trim() !== this.query.q) this.filter({ q: q.trim() }, { replace: true })
    },

    /**
     * Toggle a layer; layer filters typed in the query are removed, because the buttons replace them.
     * @param {string} layer
     */
    toggle(layer) {
      const newLayers = LAYERS.filter((other) => (other === layer) !== this.searchesIn(other)).join(",")
      if (!newLayers) return
      const placeFilters = this.typed.filter(isPlace)
      const queryChange = placeFilters.length ? { q: without(this.query.q, placeFilters) } : {}
      this.filter({ layers: newLayers === DEFAULT_LAYERS.join(",") ? "" : newLayers, ...queryChange })
    },

    /** The searched layers: those typed in the query, otherwise the selected buttons. */
    get layers() {
      const queryLayers = this.query.layers.split(",")
      return this.typed.some(isPlace) ? this.found.layers : queryLayers
    },

    /** @param {string} layer */
    searchesIn(layer) {
      return this.layers.includes(layer)
    },

    /** The filters typed in the current query. */
    get typed() {
      return (this.found.filters ?? []).filter((filter) => this.query.q.includes(filter))
    },

    /** Remove a filter from the query. @param {string} filter */
    untype(filter) {
      this.filter({ q: without(this.query.q, [filter]) })
    },

    clear() {
      const q = without(this.query.q, this.typed)
      this.filter({ q, service: "", category: "", project: "", kind: "", tag: "", since: "", state: "", layers: "" })
    },

    more() {
      this.limit = Math.min(SEARCH_LIMIT, this.limit + 40)
      return this.load()
    },

    /** Save a search whose result was opened. */
    remember() {
      const { q } = this.query
      if (!q || this.recent[0] === q) return
      this.recent = [q, ...this.recent.filter((other) => other !== q)].slice(0, RECENT)
      storage.setItem(KEY, JSON.stringify(this.recent))
    },

    forget() {
      this.recent = []
      storage.removeItem(KEY)
    },

    /** @param {string} key */
    explain(key) {
      this.open = this.open === key ? "" : key
    },

    get groups() {
      return byLayer(this.found.items, this.layers)
    },

    get filtered() {
      const { q: _, layers, ...rest } = this.query
      return layers !== DEFAULT_LAYERS.join(",") || this.typed.length > 0 || Object.values(rest).some(Boolean)
    },

    get empty() {
      return this.phase === "ready" && this.found.items.length === 0
    },

    /** Whether all hits are semantic only: even a nonsense query has nearest neighbors. */
    get isSemanticOnly() {
      const { items } = this.found
      return items.length > 0 && items.every(({ method }) => method === "meaning")
    },

    get mayMore() {
      return this.found.items.length >= this.limit && this.limit < SEARCH_LIMIT
    },

    get summary() {
      const n = this.found.items.length
      if (this.phase !== "ready" || !n) return ""
      if (this.isSemanticOnly) return t("search.no_word", { n, q: this.answered })
      const summary = t(n >= this.limit ? "search.best" : "search.results", { n, q: this.answered })
      return this.found.missing.includes("vectors") ? t("search.by_keyword", { sum: summary }) : summary
    },
  }
}

/** @param {string} filter */
function isPlace(filter) {
  return filter.toLowerCase().startsWith("in:")
}

/** @param {string} q @param {string[]} filters */
function without(q, filters) {
  return filters
    .reduce((text, filter) => text.replace(filter, ""), q)
    .replace(/\s+/g, " ")
    .trim()
}

/** @param {Pick<Storage, "getItem">} storage @returns {string[]} */
function kept(storage) {
  try {
    const stored = JSON.parse(storage.getItem(KEY) ?? "[]")
    return Array.isArray(stored) ? stored.filter((item) => typeof item === "string").slice(0, RECENT) : []
  } catch {
    return []
  }
}
