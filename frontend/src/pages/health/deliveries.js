import { t } from "../../shared/texts/index.js"
import { extend, liveList } from "../../shared/stores/list.js"

const AT_FIRST = 5

/** Alerts received from monitors, newest first. @param {{api: Api, feed: Feed}} dependencies */
export function alerts({ api, feed }) {
  return newest({ api, feed, path: "/alerts", entity: "alert" })
}

/**
 * Notifications sent to people, with their delivery state.
 * @param {{api: Api, feed: Feed, toasts: any}} dependencies
 */
export function notices({ api, feed, toasts }) {
  return extend(newest({ api, feed, path: "/notices", entity: "notice" }), {
    /** The test message. */
    tried: /** @type {number | null} */ (null),
    trying: false,
    refusal: "",

    async try() {
      if (this.trying) return
      Object.assign(this, { trying: true, refusal: "", tried: null })
      try {
        const row = await api.post("/notices/test")
        this.put(row, { own: true })
        this.tried = row.id
      } catch (problem) {
        this.refusal = t("health.testFailed", { why: /** @type {Error} */ (problem).message })
      } finally {
        this.trying = false
      }
    },

    /** The delivery state of the test message. */
    get result() {
      const row = this.rows.find((/** @type {Notice} */ { id }) => id === this.tried)
      return row ? deliveryText(row) : this.refusal
    },

    /** @param {Change} change */
    follow(change) {
      if (this.phase !== "ready") return
      this.apply(change)
      if (change.id === this.tried && change.row?.sent_at) toasts.announce(this.result, "notices")
    },
  })
}

/** A text for the delivery state of a message. @param {Notice} notice */
export function deliveryText({ state, attempts, problem }) {
  if (state === "sent") return t("health.sent")
  if (state === "suppressed") return t("health.suppressed", { why: problem })
  if (state === "failed") return t("health.gaveUp", { n: attempts, why: problem })
  return problem ? t("health.retrying", { n: attempts, why: problem }) : t("health.sending")
}

/** @param {{api: Api, feed: Feed, path: string, entity: string}} dependencies */
function newest({ api, feed, path, entity }) {
  return liveList({
    ...{ api, feed, path, entity, opens: AT_FIRST },
    query: () => ({ limit: 50 }),
    matches: (/** @type {any} */ _row) => true,
    compare: (a, b) => b.id - a.id,
  })
}
