import { throttle } from "../../shared/browser/throttle.js"
import { freeWords, nextSlot, slotWords, windowLeft } from "../../shared/format/status.js"
import { t } from "../../shared/texts/index.js"

/**
 * The usage of each cooldown, and the action that resets it.
 * @param {{api: Api, feed: Feed, clock: {second: number}, toasts: any, journal: any, later?: any, now?: () => number}} dependencies
 */
export function cooldowns({ api, feed, clock, toasts, journal, later, now = Date.now }) {
  let lastRequestId = 0
  /** @type {() => void} */
  let reloadSoon = () => {}
  return {
    items: /** @type {Cooldown[]} */ ([]),
    phase: "loading",
    problem: "",
    here: false,
    /** The time at which the next slot becomes free: the feed does not report it. */
    due: Infinity,

    visit() {
      if (this.here) return
      this.here = true
      reloadSoon = throttle(() => this.here && this.load(), { later, now })
      this.load()
    },

    exit() {
      this.here = false
    },

    async load() {
      const requestId = ++lastRequestId
      try {
        const page = await api.all("/cooldowns")
        if (requestId === lastRequestId) this.take(page)
      } catch (problem) {
        if (requestId === lastRequestId) this.fail(/** @type {Error} */ (problem))
      }
    },

    /** @param {Page<any>} page */
    take(page) {
      this.items = page.items
      this.due = Math.min(...page.items.map((cooldown) => nextSlot(cooldown) ?? Infinity))
      this.phase = "ready"
      this.problem = ""
      feed.replay(page.seq, "cooldown", () => reloadSoon())
      feed.read(page.seq)
    },

    /** @param {Error} problem */
    fail(problem) {
      this.problem = problem.message
      this.phase = this.items.length ? this.phase : "failed"
    },

    follow() {
      if (this.here) reloadSoon()
    },

    /** @param {number} second */
    tick(second) {
      if (second <= this.due) return
      this.due = Infinity
      this.follow()
    },

    slots: slotWords,

    /** @param {Cooldown} cooldown */
    free(cooldown) {
      return freeWords(cooldown, clock.second)
    },

    /** @param {Cooldown} cooldown */
    left(cooldown) {
      return windowLeft(cooldown, clock.second)
    },

    /** @param {Cooldown} cooldown */
    full({ used, limit }) {
      return used >= limit
    },

    /** @param {Cooldown} cooldown */
    resetLabel: ({ action, service }) => t("cooldowns.resetLabel", { action, service }),

    /**
     * Reset a cooldown at once; its uses stay in the history, and the reset can be undone.
     * @param {Cooldown} cooldown
     */
    async reset({ service, action }) {
      const actionText = t(action === "restart" ? "cooldowns.restarted" : "cooldowns.redeployed")
      const path = `/cooldowns/${encodeURIComponent(service)}/resets`
      try {
        await api.post(path, { action })
        toasts.show(t("cooldowns.isReset", { service, done: actionText }), {
          undo: journal.undoing(),
        })
        await this.load()
      } catch (problem) {
        toasts.show(t("cooldowns.notReset", { why: /** @type {Error} */ (problem).message }), { bad: true })
      }
    },
  }
}
