import { stretchWords } from "./range.js"
import { throttle } from "../../shared/browser/throttle.js"
import { t } from "../../shared/texts/index.js"
import { eventMatches } from "./store.js"

const STRETCHES = 90
/**
 * The number of events by interval, under the filters of the list.
 * @param {{api: Api, feed: Pick<Feed, "read">, later?: (run: () => void, ms: number) => any}} dependencies
 */
export function density({ api, feed, later = setTimeout }) {
  let lastRequestId = 0
  let key = ""
  let seq = 0
  let isLoading = false
  /** @type {Change[]} changes that the response does not include yet */
  let pendingChanges = []
  /** @type {Set<number>} */
  let countedIds = new Set()
  return {
    phase: "loading",
    problem: "",
    filters: /** @type {any} */ ({}),
    seconds: 0,
    total: 0,
    stretches: /** @type {EventInterval[]} */ ([]),

    /** @param {import("./store.js").EventFilters} filters */
    visit(filters) {
      const filterKey = JSON.stringify(filters)
      this.filters = filters
      if (filterKey !== key || this.phase === "failed") this.load()
      key = filterKey
    },

    exit() {
      key = ""
    },

    async load() {
      const requestId = ++lastRequestId
      isLoading = true
      try {
        const response = await api.get("/events/density", { ...this.filters, buckets: STRETCHES })
        if (requestId === lastRequestId) this.take(response)
      } catch (problem) {
        if (requestId === lastRequestId) this.fail(/** @type {Error} */ (problem))
      }
    },

    /** @param {Density} found */
    take({ seconds, total, stretches, seq: at }) {
      isLoading = false
      seq = at
      pendingChanges = pendingChanges.filter((change) => change.seq > seq && eventMatches(change.row, this.filters))
      countedIds = new Set(pendingChanges.map(({ id }) => id))
      Object.assign(this, { seconds, total, stretches, phase: "ready", problem: "" })
      if (pendingChanges.length) this.recount()
      feed.read(seq)
    },

    /** @param {Error} problem */
    fail(problem) {
      isLoading = false
      this.problem = problem.message
      if (this.phase !== "ready") this.phase = "failed"
    },

    /** Count a new event once, in its interval, and redraw the chart at most once a second. @param {Change} change */
    follow(change) {
      if (change.seq <= seq || countedIds.has(change.id) || !eventMatches(change.row, this.filters)) return
      countedIds.add(change.id)
      pendingChanges.push(change)
      if (this.phase === "ready") this.recount()
    },

    recount() {
      this.again ??= throttle(() => this.count(), { later })
      this.again()
    },

    again: /** @type {(() => void) | null} */ (null),

    /** Changes wait while a response is in flight: only then is it known which of them it includes. */
    count() {
      if (isLoading) return
      const events = pendingChanges.map(({ row }) => /** @type {OpsEvent} */ (row))
      pendingChanges = []
      const indexes = events.map(({ created_at }) => this.place(Date.parse(created_at)))
      if (indexes.some((at) => at < 0 || at >= this.stretches.length)) return this.load()
      const stretches = this.stretches.map((interval) => ({ ...interval }))
      events.forEach(({ level }, at) => stretches[indexes[at]][level]++)
      this.stretches = stretches
      this.total += events.length
    },

    /** @param {number} time */
    place(time) {
      return this.stretches.length ? Math.floor((time - Date.parse(this.stretches[0].at)) / (this.seconds * 1_000)) : -1
    },

    /** The bars: three levels, stacked. */
    get bars() {
      const x = this.stretches.map(({ at }) => Date.parse(at) / 1_000)
      const sums = (/** @type {("info" | "warning" | "critical")[]} */ ...levels) =>
        this.stretches.map((interval) => levels.reduce((sum, level) => sum + interval[level], 0) || null)
      return { x, all: sums("info", "warning", "critical"), bad: sums("warning", "critical"), worst: sums("critical") }
    },

    /** The range in seconds. */
    get range() {
      const start = this.stretches.length ? Date.parse(this.stretches[0].at) / 1_000 : 0
      return /** @type {[number, number]} */ ([start, start + this.stretches.length * this.seconds])
    },

    /** A text summary of the chart. */
    get words() {
      if (this.phase !== "ready" || !this.total) return ""
      const countOf = (/** @type {"warning" | "critical"} */ level) =>
        this.stretches.reduce((total, interval) => total + interval[level], 0)
      return [
        t("events.count", { n: this.total }),
        t("events.critical", { n: countOf("critical") }),
        t("events.warnings", { n: countOf("warning") }),
      ].join(", ")
    },

    /** The interval with the most events. */
    get busiest() {
      const totalOf = (/** @type {EventInterval} */ { info, warning, critical }) => info + warning + critical
      const busiest = this.stretches.reduce(
        (/** @type {EventInterval | null} */ best, interval) =>
          totalOf(interval) > (best ? totalOf(best) : 0) ? interval : best,
        null,
      )
      if (!busiest || this.stretches.filter(totalOf).length < 2) return null
      const start = Date.parse(busiest.at)
      return {
        words: t("events.busiest", { when: stretchWords(start, this.seconds), n: totalOf(busiest) }),
        from: new Date(start).toISOString(),
        to: new Date(start + this.seconds * 1_000).toISOString(),
      }
    },
  }
}
