import { throttle } from "../browser/throttle.js"
import { t } from "../texts/index.js"

const POLL_MS = 3_000

/**
 * Halts and resumes everything, and follows whether it is halted.
 * @param {{api: Api, confirm: any, toasts: any, later?: any, now?: () => number}} dependencies
 */
export function halt({ api, confirm, toasts, later, now = Date.now }) {
  /** @type {() => void} */
  let reloadSoon = () => {}
  let checkedAt = 0
  return {
    state: /** @type {HaltState | null} */ (null),
    open: false,
    reason: "",
    busy: false,
    problem: "",

    get on() {
      return Boolean(this.state?.halted)
    },

    /** Whether it can be resumed here. A halt by a file ends only when the file is removed. */
    get releasable() {
      return Boolean(this.state?.pulled.some(({ way }) => way === "row"))
    },

    /** For screen readers. */
    get words() {
      return this.state?.pulled.map(({ words }) => words).join(" ") ?? ""
    },

    async load() {
      this.state = await api.get("/halt").catch(() => this.state)
    },

    follow() {
      reloadSoon()
    },

    /** A halt file may be removed while no supervisor is running to report it. @param {number} second */
    tick(second) {
      if (!this.on || second - checkedAt < POLL_MS) return
      checkedAt = second
      this.load()
    },

    watch() {
      reloadSoon = throttle(() => this.load(), { later, now })
      return this.load()
    },

    show() {
      if (this.on) return
      Object.assign(this, { open: true, reason: "", problem: "" })
    },

    hide() {
      this.open = false
    },

    async pull() {
      if (this.busy) return
      this.busy = true
      try {
        this.state = await api.put("/halt", { reason: this.reason.trim() })
        this.hide()
      } catch (problem) {
        this.problem = t("app.not_halted", { why: /** @type {Error} */ (problem).message })
      } finally {
        this.busy = false
      }
    },

    async release() {
      const question = { title: t("app.resume_title"), note: t("app.resume_note"), verb: t("app.resume") }
      if (!(await confirm.ask(question))) return
      try {
        this.state = await api.remove("/halt")
        toasts.show(t(this.on ? "app.still_halted" : "app.resumed"))
      } catch (problem) {
        toasts.show(t("app.not_resumed", { why: /** @type {Error} */ (problem).message }), { bad: true })
      }
    },
  }
}
