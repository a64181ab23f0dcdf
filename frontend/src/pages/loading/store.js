import { pageName } from "../../shared/format/page-names.js"
import { t } from "../../shared/texts/index.js"

/** The pages whose code is not part of the first load. */
export const LATE = [
  ...["search", "approvals", "reviews", "session", "service", "incidents", "graph", "notebook", "organizer"],
  ...["cooldowns", "preview", "health", "editor", "events", "settings", "audit", "trash"],
]

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
      return pageName({ ...router, id: router.page === "search" ? null : router.id })
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
