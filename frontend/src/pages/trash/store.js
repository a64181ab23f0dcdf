import { throttle } from "../../shared/browser/throttle.js"
import { t } from "../../shared/texts/index.js"

/**
 * Deleted memories, until they are restored or deleted permanently.
 * @param {{api: Api, confirm: any, toasts: any, journal: any, later?: any, now?: () => number}} with_
 */
export function trash({ api, confirm, toasts, journal, later, now = Date.now }) {
  let turn = 0
  /** @type {() => void} */
  let again = () => {}
  return {
    rows: /** @type {Discarded[]} */ ([]),
    next: /** @type {string | null} */ (null),
    total: 0,
    q: "",
    phase: "loading",
    problem: "",
    busy: false,
    here: false,

    visit() {
      this.here = true
      again = throttle(() => this.here && this.load(), { later, now })
      return this.load()
    },

    exit() {
      this.here = false
    },

    /** A memory was deleted, restored or purged somewhere. */
    follow() {
      if (this.here) again()
    },

    /** @param {string} q */
    filter(q) {
      this.q = q.trim()
      return this.load()
    },

    async load() {
      const mine = ++turn
      try {
        const page = await api.get("/trash", { q: this.q, limit: 50 })
        if (mine !== turn) return
        Object.assign(this, { rows: page.items, next: page.next, total: page.total, phase: "ready", problem: "" })
      } catch (problem) {
        if (mine === turn)
          Object.assign(this, { phase: "failed", rows: [], problem: /** @type {Error} */ (problem).message })
      }
    },

    async more() {
      const mine = turn
      const page = await api.get("/trash", { q: this.q, limit: 50, cursor: this.next })
      if (mine === turn) Object.assign(this, { rows: [...this.rows, ...page.items], next: page.next })
    },

    /** @param {Discarded} row */
    async restore({ id }) {
      if (!(await this.act(() => api.post(`/trash/${id}/restore`, {})))) return false
      toasts.show(t("trash.restored", { id: String(id) }), { undo: journal.undoing() })
      return true
    },

    /** @param {Discarded} row */
    async purge({ id, memory }) {
      const yes = await confirm.ask({
        title: t("trash.askPurge", { id: String(id) }),
        text: memory?.observation ?? "",
        note: t("trash.purgeNote"),
        verb: t("trash.purgeVerb"),
      })
      if (!yes || !(await this.act(() => api.remove(`/trash/${id}`)))) return false
      toasts.show(t("trash.purgedOne", { id: String(id) }))
      return true
    },

    /** @param {() => Promise<unknown>} run */
    async act(run) {
      this.busy = true
      try {
        await run()
        await this.load()
        return true
      } catch (problem) {
        toasts.show(t("trash.notDone", { why: /** @type {Error} */ (problem).message }), { bad: true })
        return false
      } finally {
        this.busy = false
      }
    },
  }
}
