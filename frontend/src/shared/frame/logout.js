import { t } from "../texts/index.js"

/**
 * Logs this browser out.
 * @param {{api: Api, reload: () => void, toasts: {show(text: string, how: {bad: boolean}): void}}} dependencies
 */
export function login({ api, reload, toasts }) {
  return {
    ending: false,

    async end() {
      this.ending = true
      try {
        await api.remove("/login")
        reload()
      } catch (problem) {
        toasts.show(t("app.not_logged_out", { why: /** @type {Error} */ (problem).message }), { bad: true })
      } finally {
        this.ending = false
      }
    },
  }
}
