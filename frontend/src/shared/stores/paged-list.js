import { throttle } from "../browser/throttle.js"

const PAGE = 50

/**
 * A list that is loaded page by page and filtered by a text; it is reloaded when the feed reports a change. Earlier
 * rows remain when a later request fails.
 * @param {{api: Api, path: string, later?: any, now?: () => number}} dependencies
 */
export function pagedList({ api, path, later, now = Date.now }) {
  let lastRequestId = 0
  /** @type {() => void} */
  let reloadSoon = () => {}
  return {
    rows: /** @type {any[]} */ ([]),
    next: /** @type {string | null} */ (null),
    total: 0,
    q: "",
    phase: "loading",
    problem: "",
    here: false,

    /** The page is shown from now on. @param {() => unknown} [reload] called on a change */
    enter(reload = () => this.load()) {
      this.here = true
      reloadSoon = throttle(() => this.here && reload(), { later, now })
      return this.load()
    },

    exit() {
      this.here = false
    },

    /** The rows of the list may have changed. */
    follow() {
      if (this.here) reloadSoon()
    },

    /** @param {string} q */
    filter(q) {
      this.q = q.trim()
      return this.load()
    },

    async load() {
      const requestId = ++lastRequestId
      try {
        const page = await api.get(path, { q: this.q, limit: PAGE })
        if (requestId !== lastRequestId) return
        Object.assign(this, { rows: page.items, next: page.next, total: page.total, phase: "ready", problem: "" })
      } catch (problem) {
        if (requestId !== lastRequestId) return
        this.problem = /** @type {Error} */ (problem).message
        if (!this.rows.length) this.phase = "failed"
      }
    },

    async more() {
      const requestId = lastRequestId
      try {
        const page = await api.get(path, { q: this.q, limit: PAGE, cursor: this.next })
        if (requestId === lastRequestId) Object.assign(this, { rows: [...this.rows, ...page.items], next: page.next })
      } catch (problem) {
        this.problem = /** @type {Error} */ (problem).message
      }
    },
  }
}
