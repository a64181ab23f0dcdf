import { exact, timeAgo } from "../../shared/format/format.js"
import { t } from "../../shared/texts/index.js"

const POLL_MS = 2_000
const POLLS = 60
/** @type {Record<string, import("../../shared/texts/index.js").TextKey>} */
const NAMES = {
  undistilled: "health.undistilled",
  ratio: "health.ratio",
  stale: "health.stale",
  duplicates: "health.duplicates",
  drift: "health.drift",
  reviews: "health.reviews",
  episodes: "health.episodes",
  unverified: "health.toVerify",
}
/** @type {Record<string, {label: import("../../shared/texts/index.js").TextKey, address?: string}>} */
const ACTIONS = {
  organize: { label: "health.runOrganizer" },
  verify: { label: "health.verifyNext" },
  reviews: { label: "health.openReviews", address: "/reviews" },
  unused: { label: "health.listUnused", address: "/memories?section=all&view=unused" },
  unverified: { label: "health.listKnowledge", address: "/memories?section=knowledge&state=active" },
}

/**
 * The health of the memory: the latest measurement, its trend, and an action for each figure.
 * @param {{api: Api, toasts: any, clock: {now: number}, wait?: (ms: number) => Promise<unknown>}} dependencies
 */
export function memoryHealth({ api, toasts, clock, wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms)) }) {
  return {
    phase: "loading",
    problem: "",
    busy: "",
    measured: /** @type {MemoryMeasurement | null} */ (null),
    trend: /** @type {HealthPoint[]} */ ([]),
    calibration: /** @type {CalibrationGroup[]} */ ([]),

    async load() {
      await this.ask(() => api.get("/memory-health"))
    },

    async measure() {
      if (this.busy) return
      this.busy = "measure"
      await this.ask(() => api.post("/memory-health/measurements"))
      this.busy = ""
    },

    /** Run an action, then measure again. @param {string} action */
    async act(action) {
      if (this.busy) return
      this.busy = action
      try {
        toasts.show(await (action === "organize" ? this.organize() : this.verify()))
        await this.ask(() => api.post("/memory-health/measurements"))
      } catch (problem) {
        toasts.show(t("health.notDone", { why: /** @type {Error} */ (problem).message }), { bad: true })
      } finally {
        this.busy = ""
      }
    },

    /** The supervisor runs the organizer; wait for its result. @returns {Promise<string>} */
    async organize() {
      const { id } = await api.post("/organizer/runs")
      for (let turn = 0; turn < POLLS; turn++) {
        await wait(POLL_MS)
        const { state, counts } = await api.get(`/organizer/runs/${id}`)
        if (state === "completed")
          return t("health.organized", { duplicates: counts.duplicates ?? 0, episodes: counts.compressed ?? 0 })
      }
      return t("health.queued", { id: String(id) })
    },

    /** @returns {Promise<string>} */
    async verify() {
      const { results } = await api.post("/verification")
      const passedCount = results.filter((/** @type {{state: string}} */ { state }) => state === "passed").length
      return t("health.verifiedSome", { n: results.length, passed: passedCount })
    },

    /** @param {() => Promise<any>} request */
    async ask(request) {
      try {
        const { measurement, trend, calibration } = await request()
        Object.assign(this, { measured: measurement, trend, calibration, phase: "ready", problem: "" })
      } catch (problem) {
        this.problem = /** @type {Error} */ (problem).message
        if (this.phase === "loading") this.phase = "failed"
      }
    },

    get rows() {
      return (this.measured?.findings ?? []).map((finding) => ({
        ...finding,
        text: `${finding.words}.`,
        title: t(NAMES[finding.name]),
        goalWords: t("health.goal", { goal: finding.goal }),
        plot: plotOf(this.trend, finding.name),
        trendWords: trendWords(this.trend, finding.name, clock.now),
        label: finding.action ? t(ACTIONS[finding.action].label) : "",
        address: finding.action ? (ACTIONS[finding.action].address ?? "") : "",
      }))
    },

    /** How often memories of each confidence were confirmed. */
    get calibrated() {
      return this.calibration.map(({ low, high, share, confirmed, contradicted, interval: [from, to] }) => {
        const range =
          low === high ? low.toFixed(1) : t("health.confidenceRange", { low: low.toFixed(1), high: high.toFixed(1) })
        return {
          range,
          width: String(share * 100),
          label: t("health.confidenceLabel", { range, share: percent(share) }),
          words: t("health.confirmedOf", {
            confirmed,
            n: confirmed + contradicted,
            share: percent(share),
            from: percent(from),
            to: percent(to),
          }),
        }
      })
    },

    get when() {
      return this.measured ? t("health.measured", { when: timeAgo(this.measured.at, clock.now) }) : ""
    },

    /** The time at which duplicates were counted, if that differs from the measurement. */
    get comparedWords() {
      const { measured } = this
      if (!measured?.compared_at || measured.compared_at === measured.at) return ""
      return t("health.compared", { at: exact(measured.compared_at) })
    },
  }
}

/** @param {number} share */
const percent = (share) => String(Math.round(share * 100))

/** @param {HealthPoint[]} trend @param {string} name @returns {import("../../charts/plot.js").Spec | null} */
function plotOf(trend, name) {
  if (trend.length < 2) return null
  const values = trend.map((point) => point.values[name] ?? null)
  return {
    x: trend.map(({ at }) => Date.parse(at) / 1000),
    series: [{ values, role: "ink", kind: "line" }],
    height: 32,
    bare: true,
    y: { min: 0 },
  }
}

/**
 * A text for the trend: the value of the first measurement.
 * @param {HealthPoint[]} trend
 * @param {string} name
 * @param {number} now
 */
export function trendWords(trend, name, now) {
  if (trend.length < 2) return ""
  const [first, last] = [trend[0], trend[trend.length - 1]]
  const [firstValue, value] = [first.values[name], last.values[name]]
  const when = timeAgo(first.at, now)
  if (firstValue === value) return t("health.same", { when })
  return t("health.was", { when, value: name === "duplicates" ? `${(firstValue * 100).toFixed(1)}%` : firstValue })
}
