import { t } from "../texts.js"

const TITLES = {
  preview: t("common.preview_page"),
  health: t("common.health_page"),
  settings: t("common.settings_page"),
}
/** The pages whose code is not part of the first load. */
export const LATE = Object.keys(TITLES)

/**
 * Pages that come when one of them is opened first.
 * @param {{router: any, reload: () => void, fetch: () => Promise<Record<string, any>>}} with_ `fetch` brings the stores of
 *   the pages by name
 */
export function late({ router, reload, fetch }) {
  /** @type {Promise<Record<string, any>> | null} */
  let coming = null
  return {
    ready: false,
    problem: "",
    reload,

    /** Is one of them open whose code is not there yet? */
    get comes() {
      return !this.ready && LATE.includes(router.page)
    },

    get title() {
      return TITLES[/** @type {keyof typeof TITLES} */ (router.page)] ?? ""
    },

    /** The stores of these pages by name, once they are there; nothing where they cannot be loaded. */
    async open() {
      this.problem = ""
      coming ??= fetch()
      try {
        const stores = await coming
        this.ready = true
        return stores
      } catch {
        coming = null
        this.problem = t("common.part_lost")
        return null
      }
    },
  }
}
