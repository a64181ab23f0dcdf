/** @typedef {import("../../shared/api.js").Problem} Problem */
import { throttle } from "../../shared/browser/throttle.js"
import { spanOf } from "./axis.js"
import { t } from "../../shared/texts/index.js"

const PAGE = 50
const BEFORE = 10
const RAW_MS = 47 * 3_600_000
const MOST_RAW_MS = 6 * 3_600_000

/**
 * One incident with its details; it is reloaded when the feed reports a change.
 * @param {{api: Api, confirm: any, toasts: any, journal?: any, later?: any, now?: () => number}} dependencies
 */
export function incidents({ api, confirm, toasts, journal, later, now = Date.now }) {
  let lastRequestId = 0
  return {
    id: /** @type {number | null} */ (null),
    one: /** @type {IncidentDetail | null} */ (null),
    /** The results of the root cause during the incident, by check. */
    series: /** @type {{checks: any[]} | null} */ (null),
    /** The previous incident of the same cause; undefined until it is loaded. */
    previous: /** @type {IncidentDetail | null | undefined} */ (undefined),
    draft: "",
    /** The open incidents that this one can be merged into, while the form is open. */
    targets: /** @type {Incident[] | null} */ (null),
    into: "",
    phase: "loading",
    problem: "",
    here: false,
    busy: false,
    again: /** @type {() => void} */ (() => {}),

    /** @param {number | null} id */
    visit(id) {
      if (id !== this.id || !this.here)
        Object.assign(this, {
          ...{ one: null, series: null, previous: undefined, phase: "loading", problem: "", draft: "" },
          ...{ targets: null, into: "" },
        })
      Object.assign(this, { id, here: true })
      this.again = throttle(() => this.here && this.load(), { later, now })
      return this.load()
    },

    exit() {
      this.here = false
    },

    /** An incident, or a part of one, changed. */
    follow() {
      if (this.here) this.again()
    },

    async load() {
      const { id } = this
      const requestId = ++lastRequestId
      if (id === null) return
      try {
        const incident = await api.get(`/incidents/${id}`)
        if (requestId !== lastRequestId) return
        // all at once: a later response would push the rest down
        await Promise.all([this.loadSeries(incident), this.loadPrevious(incident)])
        if (requestId !== lastRequestId) return
        if (!this.one) this.draft = incident.note
        Object.assign(this, { one: incident, phase: "ready", problem: "" })
      } catch (problem) {
        if (requestId === lastRequestId) this.failed(/** @type {Problem} */ (problem))
      }
    },

    /**
     * Single results are retained for two days; a chart of a longer period needs fewer of them.
     * @param {IncidentDetail} incident
     */
    async loadSeries(incident) {
      const { from, to } = spanOf(incident, now())
      const query = {
        since: new Date(from).toISOString(),
        until: new Date(to).toISOString(),
        resolution: now() - from > RAW_MS || to - from > MOST_RAW_MS ? "5m" : "raw",
      }
      const series = await api.get(`/services/${encodeURIComponent(incident.service)}/series`, query).catch(() => null)
      if (this.id === incident.id) this.series = series
    },

    /** @param {IncidentDetail} one */
    async loadPrevious({ id, service }) {
      if (this.previous !== undefined) return
      this.previous = null
      const query = { service, state: "resolved", limit: BEFORE }
      const page = await api.get("/incidents", query).catch(() => null)
      const earlier = page?.items.find(
        (/** @type {Incident} */ candidate) =>
          candidate.id < id && candidate.service === service && candidate.outcome !== "merged",
      )
      const previous = earlier ? await api.get(`/incidents/${earlier.id}`).catch(() => null) : null
      if (this.id === id) this.previous = previous
    },

    /** Earlier data remains visible. @param {Problem} problem */
    failed(problem) {
      this.problem = problem.message
      if (!this.one) this.phase = problem.status === 404 ? "missing" : "failed"
    },

    acknowledge() {
      return this.change({ acknowledged: true })
    },

    saveNote() {
      return this.change({ note: this.draft })
    },

    async resolve() {
      const confirmed = await confirm.ask({
        title: t("incidents.askResolve", { id: String(this.id) }),
        text: this.one?.title ?? "",
        note: t("incidents.resolveNote"),
        verb: t("incidents.resolveVerb"),
      })
      if (confirmed) await this.change({ outcome: "repaired_by_person" })
    },

    /** Open the form to merge this incident into another open one. */
    async startMerge() {
      const page = await api.get("/incidents", { state: "open", limit: PAGE })
      const targets = page.items.filter((/** @type {Incident} */ { id }) => id !== this.id)
      Object.assign(this, { targets, into: targets.length ? String(targets[0].id) : "" })
    },

    cancelMerge() {
      this.targets = null
    },

    /** @returns {Promise<number | null>} the incident that it was merged into */
    async merge() {
      const [id, targetId] = [this.id, Number(this.into)]
      this.busy = true
      try {
        await api.patch(`/incidents/${id}`, { merge_into: targetId })
        this.targets = null
        toasts.show(t("incidents.isMerged", { id: String(id), into: String(targetId) }), { undo: journal.undoing() })
        return targetId
      } catch (problem) {
        toasts.show(t("incidents.notSaved", { why: /** @type {Error} */ (problem).message }), { bad: true })
        return null
      } finally {
        this.busy = false
      }
    },

    /** Undo a merge. @param {number} id */
    async separate(id) {
      try {
        await api.patch(`/incidents/${id}`, { separate: true })
        if (this.here) await this.load()
        toasts.show(t("incidents.isSeparate", { id: String(id) }), { undo: journal.undoing() })
      } catch (problem) {
        toasts.show(t("incidents.notSaved", { why: /** @type {Error} */ (problem).message }), { bad: true })
      }
    },

    /** @param {Record<string, unknown>} body */
    async change(body) {
      this.busy = true
      const { count } = journal
      try {
        await api.patch(`/incidents/${this.id}`, body)
        await this.load()
        toasts.show(t("incidents.saved"), { undo: journal.undoing(count) }) // a change without effect is not an act
      } catch (problem) {
        toasts.show(t("incidents.notSaved", { why: /** @type {Error} */ (problem).message }), { bad: true })
      } finally {
        this.busy = false
      }
    },
  }
}
