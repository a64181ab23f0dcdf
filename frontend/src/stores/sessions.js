import { count } from "../format.js"
import { extend, liveList } from "./list.js"

const STATUSES = ["running", "completed", "failed", "timed_out", "escalated", "stopped", "interrupted"]
const TRIGGERS = ["scheduled", "manual", "api", "alert", "escalation", "client"]

/** What the address says about the list. @param {URLSearchParams} params */
export function sessionFilters(params) {
  const [status, tier, trigger] = ["status", "tier", "trigger"].map((name) => params.get(name) ?? "")
  return {
    status: STATUSES.includes(status) ? status : "",
    tier: ["1", "2", "3"].includes(tier) ? tier : "",
    trigger: TRIGGERS.includes(trigger) ? trigger : "",
  }
}

/** @typedef {ReturnType<typeof sessionFilters>} SessionFilters */

/** @param {Session} session @param {SessionFilters} filters */
export function sessionMatches(session, { status, tier, trigger }) {
  return (
    (!status || session.status === status) &&
    (!tier || String(session.tier) === tier) &&
    (!trigger || session.trigger === trigger)
  )
}

/** What runs stands on top; then the newest. @param {Session} a @param {Session} b */
export function runningFirst(a, b) {
  return Number(b.status === "running") - Number(a.status === "running") || b.id - a.id
}

/**
 * The sessions, and the requests that wait for one.
 * @param {{api: Api, feed: Feed, router: any, later?: (run: () => void, ms: number) => any}} with_
 */
export function sessions({ api, feed, router, later = setTimeout }) {
  let filters = sessionFilters(new URLSearchParams())
  const list = liveList({
    api,
    feed,
    later,
    path: "/sessions",
    entity: "session",
    query: () => ({ ...filters, limit: 50 }),
    matches: (/** @type {Session} */ session) => sessionMatches(session, filters),
    compare: runningFirst,
  })
  return extend(list, {
    filters,
    running: /** @type {number[]} */ ([]),

    /** @param {URLSearchParams} params */
    visit(params) {
      filters = sessionFilters(params)
      const same = this.phase === "ready" && JSON.stringify(filters) === JSON.stringify(this.filters)
      this.filters = filters
      if (!same) this.load()
    },

    /** How many run now, for the sidebar of every page. */
    async tally() {
      const page = await api.get("/sessions", { status: "running", limit: 50 }).catch(() => null)
      if (page) this.running = page.items.map((/** @type {Session} */ session) => session.id)
    },

    /** @param {Change} change */
    follow(change) {
      if (this.phase === "ready") this.apply(change)
      const rest = this.running.filter((id) => id !== change.id)
      this.running = change.row?.status === "running" ? [...rest, change.id] : rest
    },

    get filtered() {
      return Object.values(filters).some(Boolean)
    },

    get pill() {
      return count(this.waiting.length, "new session")
    },

    /** @param {Record<string, any>} changes */
    filter(changes) {
      router.go(router.with(changes))
    },

    clear() {
      router.go("/sessions")
    },
  })
}
