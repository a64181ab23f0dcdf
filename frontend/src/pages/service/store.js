/** @typedef {import("../../shared/api.js").Problem} Problem */
import { throttle } from "../../shared/browser/throttle.js"
import { t } from "../../shared/texts/index.js"

export const PERIODS = ["1h", "24h", "7d", "30d", "90d"]
const [USUAL, FIRST] = ["24h", "1h"]
const FEW = 8
const CHART_MS = 30_000
const HOUR = 3_600_000
const HOURS = /** @type {Record<string, number>} */ ({ "1h": 1, "8h": 8, "24h": 24 })

/** Whether the first result is at most an hour old: in a chart of 24 h, it would all be one dot. @param {Latency} latency */
function isNew({ since, until, seconds, checks }) {
  const first = Math.min(...checks.flatMap(({ at }) => at.slice(0, 1)))
  return first < Infinity && Date.parse(until) - Date.parse(since) - first * seconds * 1_000 <= HOUR
}

/**
 * One service: its state, results, incidents, memories and available actions.
 * @param {{api: Api, heartbeats: any, journal?: any, router: any, toasts: any, later?: any, now?: () => number}} dependencies
 */
export function service({ api, heartbeats, journal, router, toasts, later, now = Date.now }) {
  let lastRequestId = 0
  let drawnAt = 0
  return {
    name: "",
    row: /** @type {ServiceDetail | null} */ (null),
    latency: /** @type {Latency | null} */ (null),
    beliefs: /** @type {Belief[]} */ ([]),
    believed: 0,
    uses: /** @type {Use[]} */ ([]),
    period: USUAL,
    usual: USUAL,
    isChosen: false,
    check: "",
    phase: "loading",
    problem: "",
    busy: false,
    here: false,
    held: false,
    pushUrl: "",
    again: /** @type {() => void} */ (() => {}),

    /** @param {URLSearchParams} params */
    visit(params) {
      const name = router.name
      const isOther = name !== this.name || !this.here
      if (name !== this.name) this.empty(name)
      const period = params.get("period") ?? this.usual
      const check = params.get("check") ?? ""
      const redraw = period !== this.period || check !== this.check
      Object.assign(this, { period: PERIODS.includes(period) ? period : this.usual, check, here: true })
      this.again = throttle(() => this.here && this.load(), { later, now })
      this.isChosen = params.has("period")
      if (isOther && (redraw || now() - drawnAt > CHART_MS)) this.latency = null
      if (isOther) return Promise.all([this.load(), this.period !== USUAL && this.loadChart(), heartbeats.load(name)])
      if (redraw) return this.loadChart()
    },

    /** @param {string} name */
    empty(name) {
      Object.assign(this, { name, row: null, latency: null, beliefs: [], uses: [] })
      Object.assign(this, { phase: "loading", problem: "", pushUrl: "", believed: 0, usual: USUAL })
    },

    exit() {
      this.here = false
    },

    follow() {
      if (this.here) this.again()
    },

    async load() {
      const requestId = ++lastRequestId
      try {
        // all at once: a later response would push the rest down
        const [row, uses, beliefs] = await Promise.all([
          api.get(`/services/${encodeURIComponent(this.name)}`),
          api.get("/cooldowns/uses", { service: this.name, limit: FEW }),
          api.get("/audit", { topic: this.name, prompt: true, limit: FEW }),
        ])
        if (requestId !== lastRequestId) return
        Object.assign(this, { row, phase: "ready", problem: "" })
        Object.assign(this, { uses: uses.items, beliefs: beliefs.items, believed: beliefs.states.active })
        if (!this.latency && this.period === USUAL) await this.draw(row.latency)
      } catch (problem) {
        if (requestId === lastRequestId) this.failed(/** @type {Problem} */ (problem))
      }
    },

    /** @param {Problem} problem */
    failed(problem) {
      this.problem = problem.message
      if (!this.row) this.phase = problem.status === 404 ? "missing" : "failed"
    },

    /** Draw the chart of 24 h, or of the first hour of a new service. @param {Latency} latency */
    async draw(latency) {
      if (!this.isChosen && isNew(latency)) {
        this.usual = this.period = FIRST
        return this.loadChart()
      }
      this.latency = latency
      drawnAt = now()
    },

    async loadChart() {
      const { name, period } = this
      drawnAt = now()
      const latency = await api.get(`/services/${encodeURIComponent(name)}/latency`, { period }).catch(() => null)
      if (latency && name === this.name && period === this.period) this.latency = latency
    },

    /** New results update the chart, but not under the pointer. @param {NewResult[]} items */
    followResults(items) {
      if (!this.here) return
      const results = items.filter(({ service }) => service === this.row?.name)
      if (!results.length) return
      if (results.some((item) => this.differs(item))) this.again()
      if (!this.held && now() - drawnAt > CHART_MS) this.loadChart()
    },

    /** @param {NewResult} item */
    differs({ check, state }) {
      const knownCheck = this.row?.checks.find((candidate) => candidate.name === check)
      return !knownCheck || knownCheck.ok !== (state !== "failed") || knownCheck.warned !== (state === "warned")
    },

    hold() {
      this.held = true
    },

    release() {
      this.held = false
    },

    /** The check in the chart: the one in the address, or the first with results. */
    get charted() {
      const checks = this.latency?.checks ?? []
      return checks.find(({ check }) => check === this.check) ?? checks[0] ?? null
    },

    /** @param {string} length */
    pause(length) {
      const hours = HOURS[length]
      const until = hours ? new Date(now() + hours * 3_600_000).toISOString() : undefined
      return this.change(
        () => api.put(`/services/${this.name}/pause`, { ...(until ? { until } : {}) }),
        t("service.paused"),
      )
    },

    resume() {
      return this.change(() => api.remove(`/services/${this.name}/pause`), t("service.resumed"))
    },

    /** Create the reporting address of a job; it is shown once. @param {string} check */
    async createKey(check) {
      const made = await this.change(() => api.post(`/services/${this.name}/checks/${check}/push-key`), "")
      if (made) this.pushUrl = made.url
    },

    /** @param {() => Promise<any>} send @param {string} message */
    async change(send, message) {
      this.busy = true
      try {
        const response = await send()
        await this.load()
        if (message) toasts.show(message, { undo: journal?.undoing() })
        return response
      } catch (problem) {
        toasts.show(t("service.notDone", { why: /** @type {Error} */ (problem).message }), { bad: true })
        return null
      } finally {
        this.busy = false
      }
    },
  }
}
