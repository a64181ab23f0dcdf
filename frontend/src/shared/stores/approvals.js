import { t } from "../texts/index.js"

/**
 * The open approvals: shown on their page, in the navigation, on the overview and on the page of a session.
 * @param {{api: Api, feed: Feed, confirm?: any, toasts?: any}} dependencies
 */
export function approvals({ api, feed, confirm, toasts }) {
  return {
    open: /** @type {Approval[]} */ ([]),
    loaded: false,

    async load() {
      const page = await api.all("/approvals", { state: "open" }).catch(() => null)
      if (!page) return
      this.open = page.items.sort(soonestFirst)
      this.loaded = true
      feed.replay(page.seq, "approval", this.follow.bind(this))
      feed.read(page.seq)
    },

    /** @param {Pick<Change, "id" | "row">} change */
    follow({ id, row }) {
      const existing = this.open.find((approval) => approval.id === id)
      if (existing && row && existing.version >= row.version) return
      const otherApprovals = this.open.filter((approval) => approval.id !== id)
      this.open = row?.state === "open" ? [...otherApprovals, row].sort(soonestFirst) : otherApprovals
    },

    get waits() {
      return this.open.length
    },

    /** How many of these sessions are working, not counting those that wait for approval. @param {number[]} running */
    busy(running) {
      return running.filter((id) => this.of(id).length === 0).length
    },

    /** A text for the number of waiting sessions. */
    get parkedWords() {
      const n = new Set(this.open.map(({ session_id: session }) => session)).size
      return n ? t("common.parked", { n }) : ""
    },

    /** For screen readers: the newest approval by name. */
    get words() {
      const newest = this.open.reduce((/** @type {Approval | null} */ a, b) => (a && a.id > b.id ? a : b), null)
      return newest
        ? t("app.approval_requested", { wish: requestedAction(newest), session: String(newest.session_id) })
        : ""
    },

    /** @param {number | null} session */
    of(session) {
      return this.open.filter((approval) => approval.session_id === session)
    },

    requestedAction,

    /**
     * Decide from any page, after the command was shown and confirmed.
     * @param {Approval} row
     * @param {"approve" | "deny"} decision
     */
    async decide(row, decision) {
      const values = { wish: requestedAction(row) }
      const verb = t(decision === "approve" ? "app.palette_approve" : "app.palette_deny", values)
      if (!(await confirm.ask({ title: `${verb}?`, text: row.argv.join(" "), note: row.reason, verb }))) return
      try {
        await api.put(`/approvals/${row.id}/decision`, { decision }, `${row.id}-${row.version}`)
        toasts.show(t("app.palette_decided", { verb }))
      } catch (problem) {
        toasts.show(t("app.palette_not_decided", { why: /** @type {Error} */ (problem).message }), { bad: true })
      }
    },
  }
}

/** The requested action, in three words. @param {Pick<Approval, "name" | "service">} approval */
export function requestedAction({ name, service }) {
  return t("app.wish", { name, service })
}

/** The approval that expires first. @param {Approval} a @param {Approval} b */
export function soonestFirst(a, b) {
  return Date.parse(a.expires_at) - Date.parse(b.expires_at) || a.id - b.id
}
