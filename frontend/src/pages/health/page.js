import { timeAgo } from "../../shared/format/format.js"
import { deliveryText } from "./deliveries.js"
import { t } from "../../shared/texts/index.js"

const OLD_MS = 60_000

/** @param {(name: string) => any} store */
export function healthPage(store) {
  const health = store("health")
  return {
    /** @param {Alert} row */
    alertState: ({ state }) => t(state === "firing" ? "health.firing" : "health.resolved"),

    /** @param {Alert} row */
    alertMood: ({ state }) => (state === "firing" ? "warning" : "ok"),

    /** @param {Alert} row */
    deliveryWords: ({ deliveries: n }) => t("health.deliveries", { n }),

    /** @param {Notice} row */
    noticeMood: ({ state, problem }) =>
      state === "failed"
        ? "failing"
        : state === "sent" || state === "suppressed"
          ? "ok"
          : problem
            ? "warning"
            : "unknown",

    /** Wait for both responses, so that nothing below the figures of the memory moves. */
    ready: () => health.phase === "ready" && store("memoryHealth").phase !== "loading",
    loading() {
      return health.phase !== "failed" && !this.ready()
    },

    unmeasured: () => store("memoryHealth").phase === "ready" && store("memoryHealth").measured === null,

    became: deliveryText,
    tryOut: () => store("notices").try(),

    again: () => health.load(),
    fullCheck: () => health.runFullCheck(),

    /** The time of a check result, unless it is recent. @param {VitalSign} sign */
    when({ at }) {
      const now = Math.max(store("clock").now, health.at)
      return now - Date.parse(at) < OLD_MS ? "" : timeAgo(at, now)
    },
  }
}
