import { t } from "../../shared/texts/index.js"
import { extend, liveList } from "../../shared/stores/list.js"

/**
 * The incidents, newest first, of one service or of all. The state of the filter is "open", "resolved" or all.
 * @param {{api: Api, feed: Feed, later?: (run: () => void, ms: number) => any}} dependencies
 */
export function incidentList({ api, feed, later = setTimeout }) {
  let which = ""
  let service = ""
  const list = liveList({
    api,
    feed,
    later,
    path: "/incidents",
    entity: "incident",
    query: () => ({ state: which, service, limit: 50 }),
    matches: (/** @type {Incident} */ { state, services }) =>
      (!which || (state === "resolved") === (which === "resolved")) && (!service || services.includes(service)),
    compare: (a, b) => b.id - a.id,
  })
  return extend(list, {
    which: "",
    service: "",

    /** @param {URLSearchParams} params */
    visit(params) {
      const state = params.get("state") ?? ""
      which = ["open", "resolved"].includes(state) ? state : ""
      service = params.get("service") ?? ""
      if (which !== this.which || service !== this.service) Object.assign(this, { rows: [], phase: "loading" })
      Object.assign(this, { which, service })
      return this.load()
    },

    /** @param {Change} change */
    follow(change) {
      if (this.phase === "ready") this.apply(change)
    },

    get pill() {
      return t("incidents.fresh", { n: this.waiting.length })
    },

    /** The number of open incidents, as far as they are loaded. */
    get openCount() {
      return [...this.rows, ...this.waiting].filter(({ state }) => state !== "resolved").length
    },

    /** The number of open incidents as a text; older ones that are not loaded may be open, too. */
    get openWords() {
      const { openCount: n, next } = this
      if (which === "resolved") return ""
      if (next === null) return n ? t("incidents.nOpen", { n }) : t("incidents.noneOpen")
      return n ? t("incidents.openLoaded", { n }) : t("incidents.noneOfNewest", { n: this.rows.length })
    },
  })
}
