import { LEVELS } from "../../../generated/values.js"
import { RANGES, rangeOf } from "./range.js"
import { momentOf } from "../../shared/format/local-time.js"
import { t } from "../../shared/texts/index.js"
import { extend, liveList } from "../../shared/stores/list.js"

/** The filters of the list in the address. @param {URLSearchParams} params */
export function eventFilters(params) {
  return {
    q: params.get("q") ?? "",
    service: params.get("service") ?? "",
    level: LEVELS.filter((level) => params.getAll("level").includes(level)),
    session: params.get("session") ?? "",
    from: momentOf(params.get("from")),
    to: momentOf(params.get("to")),
  }
}

/** @typedef {ReturnType<typeof eventFilters>} EventFilters */

/**
 * Whether the server would list this event under these filters.
 * @param {OpsEvent} event
 * @param {EventFilters} filters
 */
export function eventMatches(event, { q, service, level, session, from, to }) {
  const at = Date.parse(event.created_at)
  return (
    (!from || at >= Date.parse(from)) &&
    (!to || at < Date.parse(to)) &&
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

const AROUND_MS = 15 * 60_000

/**
 * Events, newest first: one by one, or grouped by text; `density` counts them over time.
 * @param {{api: Api, feed: Feed, router: any, groups: any, density: any, later?: (run: () => void, ms: number) => any}} dependencies
 */
export function events({ api, feed, router, groups, density, later = setTimeout }) {
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
    here: false,
    grouped: false,
    /** The filters under which the list was read. */
    read: "",
    /** The event in the address. */
    linkedId: "",
    linked: /** @type {OpsEvent | null} */ (null),
    linkedProblem: "",

    /** @param {URLSearchParams} params */
    visit(params) {
      filters = eventFilters(params)
      this.filters = filters
      this.grouped = params.get("group") === "1"
      this.here = true
      density.visit(filters)
      this.point(params.get("event") ?? "")
      if (this.grouped) return groups.visit(filters)
      if (this.phase === "ready" && this.read === JSON.stringify(filters)) return
      this.read = JSON.stringify(filters)
      this.load()
    },

    exit() {
      this.here = false
      density.exit()
    },

    /** Reload everything: the feed cannot tell which changes were missed. */
    reload() {
      if (this.grouped) groups.load()
      if (!this.grouped || this.phase === "ready") this.load()
      density.load()
    },

    /** @param {Change} change */
    follow(change) {
      if (this.phase === "ready") this.apply(change)
      if (groups.phase === "ready") groups.apply(change)
      if (change.op === "created" && this.here) density.follow(change)
    },

    /** @param {string} id */
    async point(id) {
      const number = /^\d{1,15}$/.test(id) ? id : ""
      if (number === this.linkedId) return
      Object.assign(this, { linkedId: number, linked: null, linkedProblem: "" })
      if (!number) return
      try {
        const event = await api.get(`/events/${number}`)
        if (this.linkedId === number) this.linked = event
      } catch (problem) {
        if (this.linkedId === number) this.linkedProblem = /** @type {Error} */ (problem).message
      }
    },

    /** Show the events shortly before and after the linked event. */
    around() {
      if (!this.linked) return
      const at = Date.parse(this.linked.created_at)
      const range = { from: new Date(at - AROUND_MS).toISOString(), to: new Date(at + AROUND_MS).toISOString() }
      router.go(`/events?event=${this.linked.id}&from=${range.from}&to=${range.to}`)
    },

    get filtered() {
      return Boolean(
        this.filters.q || this.filters.service || this.filters.level.length || this.filters.session || this.ranged,
      )
    },

    get ranged() {
      return Boolean(this.filters.from || this.filters.to)
    },

    /** The visible list: events or groups. */
    get list() {
      return this.grouped ? groups : this
    },

    get pill() {
      return t("events.new", { n: this.waiting.length })
    },

    /** Choose a time range, in seconds since 1970. @param {number} from @param {number} to */
    choose(from, to) {
      this.filter({ from: iso(Math.floor(from)), to: iso(Math.ceil(to)) })
    },

    /** @param {string} key @param {number} now */
    lately(key, now) {
      if (key === "" || RANGES.some((range) => range.key === key)) this.filter(rangeOf(key, now))
    },

    /** @param {string} level */
    has(level) {
      return this.filters.level.includes(level)
    },

    /** @param {string} level */
    toggle(level) {
      const now = this.filters.level
      router.go(router.with({ level: now.includes(level) ? now.filter((other) => other !== level) : [...now, level] }))
    },

    /** @param {Record<string, any>} changes @param {{replace?: boolean}} [options] */
    filter(changes, options) {
      router.go(router.with(changes), options)
    },

    /** @param {string} q */
    type(q) {
      this.filter({ q: q.trim() }, { replace: true })
    },

    clear() {
      this.filter({ q: "", service: "", level: [], session: "", from: "", to: "" })
    },
  })
}

/** @param {number} seconds */
function iso(seconds) {
  return new Date(seconds * 1_000).toISOString()
}
