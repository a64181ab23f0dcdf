import { t } from "../../shared/texts/index.js"

const TITLES = {
  search: t("common.search_page"),
  approvals: t("common.approvals_page"),
  reviews: t("common.reviews_page"),
  session: t("common.session_page"),
  service: t("common.service_page"),
  incidents: t("common.incidents_page"),
  graph: t("common.graph_page"),
  notebook: t("common.notebook_page"),
  organizer: t("common.organizer_page"),
  cooldowns: t("common.cooldowns_page"),
  preview: t("common.preview_page"),
  health: t("common.health_page"),
  editor: t("common.editor_page"),
  events: t("common.events_page"),
  settings: t("common.settings_page"),
  audit: t("common.audit_page"),
  trash: t("common.trash_page"),
}
/** The pages whose code is not part of the first load. */
export const LATE = Object.keys(TITLES)

/**
 * Pages whose code is loaded when one of them is first opened.
 * @param {{api: Api, router: any, reload: () => void, fetch: () => Promise<Record<string, any>>}} dependencies `fetch` brings the stores of
 *   the pages by name
 */
export function late({ api, router, reload, fetch }) {
  /** @type {Promise<Record<string, any>> | null} */
  let pending = null
  return {
    ready: false,
    problem: "",

    /** Whether the open page is still waiting for its code. */
    get comes() {
      return !this.ready && LATE.includes(router.page)
    },

    get title() {
      if (router.page === "organizer" && router.id !== null) return t("app.run_n", { id: String(router.id) })
      if (router.page === "service") return router.name
      if (router.page === "session") return t("app.session_n", { id: String(router.id) })
      if (router.page === "reviews" && router.id !== null) return t("app.review_n", { id: String(router.id) })
      return TITLES[/** @type {keyof typeof TITLES} */ (router.page)] ?? ""
    },

    /** The stores of these pages by name, once loaded; nothing if they cannot be loaded. */
    async open() {
      pending ??= fetch()
      try {
        const stores = await pending
        this.ready = true
        this.problem = ""
        return stores
      } catch {
        pending = null
        this.problem = t("common.part_lost")
        return null
      }
    },

    /** Try again. If the server responds but does not have the file, a newer version is deployed. */
    async again() {
      const answers = await api
        .get("/supervisor")
        .catch((/** @type {import("../../shared/api.js").Problem} */ { status }) => status)
      if (await this.open()) router.arrive()
      else if (answers) reload()
    },
  }
}
