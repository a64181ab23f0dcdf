import { until } from "../format/format.js"
import { t } from "../texts/index.js"

const ASK_AGAIN_MS = 5_000
const UNAVAILABLE = 503

/** A text for whether a supervisor is running. @param {SupervisorState | null} state @param {number} now */
export function supervisorWords(state, now) {
  if (!state) return ""
  if (state.state === "away") return t("common.no_supervisor")
  if (state.state === "running") return t("common.round_runs")
  if (!state.next_round_at) return t("common.no_round")
  const when = until(state.next_round_at, now)
  return when === t("common.now") ? t("common.round_due") : t("common.next_round", { when })
}

/**
 * A short form for the header on a phone, in thirteen letters.
 * @param {SupervisorState | null} state
 * @param {number} now
 */
export function supervisorBrief(state, now) {
  if (!state) return ""
  if (state.state === "away") return t("common.no_supervisor_brief")
  if (state.state === "running") return t("common.round_runs_brief")
  if (!state.next_round_at) return t("common.no_round_brief")
  const when = until(state.next_round_at, now)
  return when === t("common.now") ? t("common.round_due_brief") : t("common.next_round_brief", { when })
}

/**
 * The state of the supervisor. A dead supervisor reports nothing, so the server is polled from time to time.
 * @param {{api: Api, clock: {now: number}}} dependencies
 */
export function supervisor({ api, clock }) {
  return {
    state: /** @type {SupervisorState | null} */ (null),

    /** Why nothing can be saved: the database file was deleted, replaced or damaged. */
    database: "",

    async load() {
      try {
        this.state = await api.get("/supervisor")
        this.database = this.state?.database ?? ""
      } catch (problem) {
        const { status, message } = /** @type {{status: number, message: string}} */ (problem)
        if (status === UNAVAILABLE) this.database = message
      }
    },

    watch() {
      this.load()
      setInterval(() => document.hidden || this.load(), ASK_AGAIN_MS)
    },

    /** @param {Change} change */
    follow({ row }) {
      if (row) this.state = { ...this.state, ...row }
    },

    get words() {
      return supervisorWords(this.state, clock.now)
    },

    get brief() {
      return supervisorBrief(this.state, clock.now)
    },

    get away() {
      return this.state?.state === "away"
    },

    get atWork() {
      return this.state?.state === "running"
    },
  }
}
