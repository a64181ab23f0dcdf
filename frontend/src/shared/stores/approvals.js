import { t } from "../texts/index.js"

/**
 * What sessions ask a person for and nobody has answered yet: the page, the navigation, the overview and the session's
 * page all show these.
 * @param {{api: Api, feed: Feed, confirm?: any, toasts?: any}} with_
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
      const held = this.open.find((each) => each.id === id)
      if (held && row && held.version >= row.version) return
      const others = this.open.filter((each) => each.id !== id)
      this.open = row?.state === "open" ? [...others, row].sort(soonestFirst) : others
    },

    get waits() {
      return this.open.length
    },

    /** How many of these sessions do something, beside those that wait for approval. @param {number[]} running */
    busy(running) {
      return running.filter((id) => this.of(id).length === 0).length
    },

    /** How many sessions wait, in words. */
    get parkedWords() {
      const n = new Set(this.open.map(({ session_id: session }) => session)).size
      return n ? t("common.parked", { n }) : ""
    },

    /** For ears: the newest one by its name. */
    get words() {
      const newest = this.open.reduce((/** @type {Approval | null} */ a, b) => (a && a.id > b.id ? a : b), null)
      return newest ? t("app.approval_requested", { wish: wish(newest), session: String(newest.session_id) }) : ""
    },

    /** @param {number | null} session */
    of(session) {
      return this.open.filter((each) => each.session_id === session)
    },

    wish,

    /** From anywhere: once the command was shown and a person agreed. @param {Approval} row @param {"approve" | "deny"} decision */
    async decide(row, decision) {
      const words = { wish: wish(row) }
      const verb = t(decision === "approve" ? "app.palette_approve" : "app.palette_deny", words)
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

/** What would be done, in three words. @param {Pick<Approval, "name" | "service">} approval */
export function wish({ name, service }) {
  return t("app.wish", { name, service })
}

/** The one whose time is over first. @param {Approval} a @param {Approval} b */
export function soonestFirst(a, b) {
  return Date.parse(a.expires_at) - Date.parse(b.expires_at) || a.id - b.id
}
