import { count } from "../format.js"
import { extend, liveList } from "./list.js"

export const LEVELS = ["info", "warning", "critical"]

/** What the address says about the list. @param {URLSearchParams} params */
export function eventFilters(params) {
  return {
    q: params.get("q") ?? "",
    service: params.get("service") ?? "",
    level: LEVELS.filter((level) => params.getAll("level").includes(level)),
    session: params.get("session") ?? "",
  }
}

/** @typedef {ReturnType<typeof eventFilters>} EventFilters */

/** Would the server list this event under these filters? @param {OpsEvent} event @param {EventFilters} filters */
export function eventMatches(event, { q, service, level, session }) {
  return (
    (!q || event.text.toLowerCase().includes(q.toLowerCase())) &&
    (!service || (event.service ?? "general") === service) &&
    (!level.length || level.includes(event.level)) &&
    (!session || String(event.session_id) === session)
  )
}

/** @param {Row} a @param {Row} b */
export function newestFirst(a, b) {
  return b.id - a.id
}

/**
 * What happened, newest first.
 * @param {{api: Api, feed: Feed, router: any, later?: (run: () => void, ms: number) => any}} with_
 */
export function events({ api, feed, router, later = setTimeout }) {
  let filters = eventFilters(new URLSearchParams())
  const list = liveList({
    api,
    feed,
    later,
    path: "/events",
    entity: "event",
    query: () => ({ ...filters, limit: 50 }),
    matches: (/** @type {OpsEvent} */ event) => eventMatches(event, filters),
    compare: newestFirst,
  })
  return extend(list, {
    filters,
    unseen: 0,
    here: false,

    /** @param {URLSearchParams} params */
    visit(params) {
      filters = eventFilters(params)
      const same = this.phase === "ready" && JSON.stringify(filters) === JSON.stringify(this.filters)
      this.filters = filters
      this.unseen = 0
      this.here = true
      if (!same) this.load()
    },

    leave() {
      this.here = false
    },

    /** @param {Change} change */
    follow(change) {
      if (change.op === "created" && !this.here) this.unseen += 1
      if (this.phase === "ready") this.apply(change)
    },

    get filtered() {
      return Boolean(filters.q || filters.service || filters.level.length || filters.session)
    },

    get pill() {
      return count(this.waiting.length, "new event")
    },

    /** @param {string} level */
    has(level) {
      return this.filters.level.includes(level)
    },

    /** @param {string} level */
    toggle(level) {
      const now = this.filters.level
      router.go(router.with({ level: now.includes(level) ? now.filter((each) => each !== level) : [...now, level] }))
    },

    /** @param {Record<string, any>} changes @param {{replace?: boolean}} [how] */
    filter(changes, how) {
      router.go(router.with(changes), how)
    },

    /** @param {string} q */
    type(q) {
      this.filter({ q: q.trim() }, { replace: true })
    },

    clear() {
      router.go("/events")
    },
  })
}
