import { sequence } from "../../shared/browser/sequence.js"
import { t } from "../../shared/texts/index.js"
import { extend, liveList } from "../../shared/stores/list.js"

const COUNT_AGAIN_MS = 400
/** The next cases are loaded this many cases before the end of the list. */
const AHEAD = 5

/** The filters of the list in the address. @param {URLSearchParams} params */
export function reviewFilters(params) {
  const state = params.get("state") ?? ""
  return { state: state === "resolved" ? state : "open" }
}

/**
 * The open cases, oldest first, or the resolved ones, newest first.
 * @param {{api: Api, feed: Feed, router: any, later?: (run: () => void, ms: number) => any}} dependencies
 */
export function reviews({ api, feed, router, later = setTimeout }) {
  let filters = reviewFilters(new URLSearchParams())
  let counting = false
  const request = sequence()
  /** The postponed cases, in the order in which they were postponed. @type {number[]} */
  let postponedIds = []
  const rank = (/** @type {Review} */ { id }) => postponedIds.indexOf(id)
  const list = liveList({
    api,
    feed,
    later,
    path: "/reviews",
    entity: "review",
    query: () => ({ ...filters, limit: 50 }),
    matches: (/** @type {Review} */ review) => review.state === filters.state,
    compare: (a, b) => (filters.state === "open" ? rank(a) - rank(b) || a.id - b.id : b.id - a.id),
  })
  const { apply } = list
  return extend(list, {
    filters,
    /** The number of open cases, independent of the list. */
    open: 0,
    /** The number of notebook pages that need a review. */
    pages: 0,
    /** The time since which the oldest case has been open. */
    oldest: /** @type {Time | null} */ (null),
    loaded: false,

    /** @param {URLSearchParams} params */
    visit(params) {
      filters = reviewFilters(params)
      const isUnchanged = this.phase === "ready" && filters.state === this.filters.state
      this.filters = filters
      if (isUnchanged) return
      this.rows = []
      this.phase = "loading"
      this.load()
    },

    reload() {
      this.load()
      this.tally()
    },

    async tally() {
      const current = request()
      try {
        const { total, pages, items } = await api.get("/reviews", { state: "open", limit: 1 })
        if (!current()) return
        this.open = total
        this.pages = pages
        this.oldest = items[0]?.created_at ?? null
        this.loaded = true
      } catch {
        if (current()) this.loaded = false
      }
    },

    /** @param {Change} change */
    apply(change) {
      apply.call(this, change)
      if (change.row && change.op !== "batch") this.sort(change.row)
    },

    /** @param {Change} change */
    follow(change) {
      if (this.phase === "ready") this.apply(change)
      if (counting) return
      counting = true
      later(() => {
        counting = false
        this.tally()
      }, COUNT_AGAIN_MS)
    },

    /** A resolved or reopened case moves to the other list. @param {Review} review @param {{own?: boolean}} [how] */
    sort({ id, state }, { own = false } = {}) {
      const isListed = state === filters.state
      if (isListed) delete this.leaving[id]
      else if (this.held && !own && this.rows.some((row) => row.id === id)) this.leaving[id] = true
      else this.remove([id])
      if (!isListed) this.waiting = this.waiting.filter((row) => row.id !== id)
    },

    /** Show a decision of the operator at once. @param {Review} review */
    showResolved(review) {
      this.put(review, { own: true })
      this.sort(review, { own: true })
      this.tally()
    },

    /** The previous, next or first case; `null` at the end. @param {number | null} id @param {number} step */
    beside(id, step) {
      const rows = this.rows.filter((row) => !this.leaving[row.id])
      const at = rows.findIndex((row) => row.id === id)
      if (this.next !== null && at + step >= rows.length - AHEAD) this.more()
      return (at < 0 ? rows[0] : rows[at + step])?.id ?? null
    },

    /** Move a case behind all others; returns the next case. @param {number} id */
    postpone(id) {
      postponedIds = [...postponedIds.filter((other) => other !== id), id]
      const row = this.rows.find((candidate) => candidate.id === id)
      const nextId = this.beside(id, 1) ?? this.beside(null, 0)
      if (row && this.next === null) {
        this.rows = this.rows.filter((other) => other.id !== id)
        this.place(row)
      }
      return nextId
    },

    get waits() {
      return this.loaded ? this.open : 0
    },

    /** The count in the navigation: memories and pages. */
    get all() {
      return this.loaded ? this.open + this.pages : 0
    },

    get pill() {
      return t("reviews.fresh", { n: this.waiting.length })
    },

    /** @param {number} id */
    address(id) {
      return router.keeping(`/reviews/${id}`)
    },
  })
}
