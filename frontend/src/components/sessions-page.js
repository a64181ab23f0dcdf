import { attempt } from "./attempt.js"
import { onControl, revealIn } from "./rows.js"

/** @param {(name: string) => any} store */
export function sessionsPage(store) {
  const [sessions, requests, router] = ["sessions", "requests", "router"].map(store)
  return {
    reveal: () => revealIn(sessions),

    /** @param {Session} row */
    rowClass: (row) => ({ "is-fresh": sessions.fresh[row.id], "is-running": row.status === "running" }),

    /** @param {Session} row @param {Event} click */
    openRow(row, click) {
      if (!onControl(click)) router.go(`/sessions/${row.id}`)
    },

    /** @param {RunRequest} request */
    cancel: (request) => attempt(store, () => requests.cancel(request.id)),
  }
}
