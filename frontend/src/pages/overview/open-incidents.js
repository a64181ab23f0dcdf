import { t } from "../../shared/texts/index.js"

const SEVERITIES = /** @type {const} */ (["critical", "warning", "info"])

/**
 * The most urgent open incidents, in the space that was reserved when the page opened: a new incident moves nothing.
 * Those without a row are counted. Rows keep their places while the pointer or the focus is among them.
 */
export function openIncidents() {
  return {
    rows: /** @type {Incident[]} */ ([]),
    /** The most urgent ones of the last response. */
    latest: /** @type {Incident[]} */ ([]),
    counts: /** @type {Record<string, number>} */ ({}),
    /** The number of rows with reserved space; 0 until the first response of a visit. */
    places: 0,
    held: false,

    /** @param {Pick<OverviewState, "incidents" | "open_incidents">} state */
    take({ incidents, open_incidents: counts }) {
      Object.assign(this, { latest: incidents, counts })
      if (!this.places) this.places = Math.max(1, incidents.length)
      this.place()
    },

    place() {
      const newer = new Map(this.latest.map((incident) => [incident.id, incident]))
      const kept = this.held ? this.rows.map((row) => newer.get(row.id) ?? row) : []
      const others = this.latest.filter(({ id }) => !kept.some((row) => row.id === id))
      this.rows = [...kept, ...others].slice(0, this.places)
    },

    hold() {
      this.held = true
    },

    release() {
      this.held = false
      this.place()
    },

    /** Whether the page has no space yet for some of the most urgent ones. */
    get folded() {
      return this.latest.length > this.places
    },

    /** An act of the operator may move the page. */
    unfold() {
      this.places = this.latest.length
      this.place()
    },

    /** The number of open incidents without a row, by severity. */
    get others() {
      const rowsOf = (/** @type {string} */ name) => this.rows.filter(({ severity }) => severity === name).length
      return SEVERITIES.map((name) => ({ name, n: (this.counts[name] ?? 0) - rowsOf(name) })).filter(({ n }) => n > 0)
    },

    get words() {
      const n = this.others.reduce((sum, other) => sum + other.n, 0)
      return n ? t("overview.moreIncidents", { n }) : t("overview.allIncidents")
    },

    get severities() {
      return this.others.map(({ name, n }) => t(`overview.severity_${name}`, { n })).join(", ")
    },
  }
}
