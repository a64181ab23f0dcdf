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
  let turn = 0
  let key = ""
  let seq = 0
  let busy = false
  /** @type {Change[]} changes that the response does not include yet */
  let came = []
  /** @type {Set<number>} */
  let counted = new Set()
  return {
    phase: "loading",
    problem: "",
    filters: /** @type {any} */ ({}),
    seconds: 0,
    total: 0,
    stretches: /** @type {EventInterval[]} */ ([]),

    /** @param {import("./store.js").EventFilters} filters */
    visit(filters) {
      const asked = JSON.stringify(filters)
      this.filters = filters
      if (asked !== key || this.phase === "failed") this.load()
      key = asked
    },

    exit() {
      key = ""
    },

    async load() {
      const mine = ++turn
      busy = true
      try {
        const found = await api.get("/events/density", { ...this.filters, buckets: STRETCHES })
        if (mine === turn) this.take(found)
      } catch (problem) {
        if (mine === turn) this.fail(/** @type {Error} */ (problem))
      }
    },

    /** @param {Density} found */
    take({ seconds, total, stretches, seq: at }) {
      busy = false
      seq = at
      came = came.filter((change) => change.seq > seq && eventMatches(change.row, this.filters))
      counted = new Set(came.map(({ id }) => id))
      Object.assign(this, { seconds, total, stretches, phase: "ready", problem: "" })
      if (came.length) this.recount()
      feed.read(seq)
    },

    /** @param {Error} problem */
    fail(problem) {
      busy = false
      this.problem = problem.message
      if (this.phase !== "ready") this.phase = "failed"
    },

    /** Count a new event once, in its interval, and redraw the chart at most once a second. @param {Change} change */
    follow(change) {
      if (change.seq <= seq || counted.has(change.id) || !eventMatches(change.row, this.filters)) return
      counted.add(change.id)
      came.push(change)
      if (this.phase === "ready") this.recount()
    },

    recount() {
      this.again ??= throttle(() => this.count(), { later })
      this.again()
    },

    again: /** @type {(() => void) | null} */ (null),

    /** Changes wait while a response is in flight: only then is it known which of them it includes. */
    count() {
      if (busy) return
      const events = came.map(({ row }) => /** @type {OpsEvent} */ (row))
      came = []
      const places = events.map(({ created_at }) => this.place(Date.parse(created_at)))
      if (places.some((at) => at < 0 || at >= this.stretches.length)) return this.load()
      const stretches = this.stretches.map((each) => ({ ...each }))
      events.forEach(({ level }, at) => stretches[places[at]][level]++)
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
        this.stretches.map((each) => levels.reduce((sum, level) => sum + each[level], 0) || null)
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
      const sum = (/** @type {"warning" | "critical"} */ level) =>
        this.stretches.reduce((all, each) => all + each[level], 0)
      return [
        t("events.count", { n: this.total }),
        t("events.critical", { n: sum("critical") }),
        t("events.warnings", { n: sum("warning") }),
      ].join(", ")
    },

    /** The interval with the most events. */
    get busiest() {
      const of = (/** @type {EventInterval} */ { info, warning, critical }) => info + warning + critical
      const most = this.stretches.reduce(
        (/** @type {EventInterval | null} */ found, each) => (of(each) > (found ? of(found) : 0) ? each : found),
        null,
      )
      if (!most || this.stretches.filter(of).length < 2) return null
      const start = Date.parse(most.at)
      return {
        words: t("events.busiest", { when: stretchWords(start, this.seconds), n: of(most) }),
        from: new Date(start).toISOString(),
        to: new Date(start + this.seconds * 1_000).toISOString(),
      }
    },
  }
}
