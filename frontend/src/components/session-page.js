import { count } from "../format.js"
import { attempt } from "./attempt.js"
import { remember } from "./remember.js"

/** @param {(name: string) => any} store */
export function sessionPage(store) {
  const [session, log] = ["session", "log"].map(store)
  return {
    reason: () => session.row?.reason ?? "",
    stopping: () => Boolean(session.row?.stopping),
    stop: () => attempt(store, () => session.stop()),
    take: (/** @type {Marker} */ marker) => attempt(store, () => session.takeMarker(marker)),
    remember: (/** @type {OpsEvent} */ event) => remember(store, event),

    logWords() {
      const lines = count(log.size, "line")
      return log.problem && log.size ? `${lines}. ${log.problem}` : lines
    },

    followWords() {
      if (log.following) return "Following"
      return log.unread ? count(log.unread, "new line") : "Paused"
    },

    toggleFollow: () => (log.following ? log.pause() : log.follow()),

    /** @param {Marker} marker */
    showLine({ offset, index, line }) {
      const key = `${offset}:${index}:${line}`
      if (log.find(key)) requestAnimationFrame(() => requestAnimationFrame(() => point(key)))
    },

    budgetWords() {
      const { tokens, budget } = session.told
      return budget ? `${tokens.toLocaleString("en")} of ${budget.toLocaleString("en")} tokens` : ""
    },

    budgetShare: () => (session.told.budget ? session.told.tokens / session.told.budget : 0),
  }
}

/** @param {string} key */
function point(key) {
  const line = document.querySelector(`.line[data-key="${key}"]`)
  line?.scrollIntoView({ block: "center" })
  line?.classList.add("is-fresh")
  setTimeout(() => line?.classList.remove("is-fresh"), 2_400)
}
