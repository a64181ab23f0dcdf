import { throttle } from "../browser/throttle.js"
import { t } from "../texts/index.js"

const LOOK_MS = 3_000

/**
 * The way to make everything stand still, and whether it does.
 * @param {{api: Api, confirm: any, toasts: any, later?: any, now?: () => number}} with_
 */
export function halt({ api, confirm, toasts, later, now = Date.now }) {
  /** @type {() => void} */
  let again = () => {}
  let looked = 0
  return {
    state: /** @type {HaltState | null} */ (null),
    open: false,
    reason: "",
    busy: false,
    problem: "",

    get on() {
      return Boolean(this.state?.halted)
    },

    /** Can it be let go on from here? What a file brought about, only who removes it ends. */
    get releasable() {
      return Boolean(this.state?.pulled.some(({ way }) => way === "row"))
    },

    /** For ears. */
    get words() {
      return this.state?.pulled.map(({ words }) => words).join(" ") ?? ""
    },

    async load() {
      this.state = await api.get("/halt").catch(() => this.state)
    },

    follow() {
      again()
    },

    /** A file may go while no supervisor is there to tell of it. @param {number} second */
    tick(second) {
      if (!this.on || second - looked < LOOK_MS) return
      looked = second
      this.load()
    },

    watch() {
      again = throttle(() => this.load(), { later, now })
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
      const sure = { title: t("app.resume_title"), note: t("app.resume_note"), verb: t("app.resume") }
      if (!(await confirm.ask(sure))) return
      try {
        this.state = await api.remove("/halt")
        toasts.show(t(this.on ? "app.still_halted" : "app.resumed"))
      } catch (problem) {
        toasts.show(t("app.not_resumed", { why: /** @type {Error} */ (problem).message }), { bad: true })
      }
    },
  }
}
