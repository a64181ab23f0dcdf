import { throttle } from "../../../shared/browser/throttle.js"
import { t } from "../../../shared/texts/index.js"

/** Handoffs to a person; `closed` ones were answered or ended by healthy rounds. */
const PERSON_STATES = ["person", "closed"]

const STATES = new Map([
  ["open", t("session.handoff_open")],
  ["accepted", t("session.handoff_accepted")],
  ["taken", ""],
  ["dropped", t("session.handoff_dropped")],
  ["person", t("session.handoff_person")],
  ["closed", t("session.handoff_closed")],
  ["dry", t("session.handoff_dry")],
])

/** The state of a handoff, and the reason. @param {Handoff} handoff */
export function handoffState({ state, why }) {
  return [STATES.get(state) ?? state, why].filter(Boolean).join(": ")
}

/** The source and the target of a handoff. @param {Handoff} handoff */
export function handoffWay({ session_id: from, child_id: to, tier, service, state }) {
  const next = PERSON_STATES.includes(state) ? t("session.aPerson") : t("session.toTier", { tier })
  return `#${from} → ${to === null ? next : `#${to}`}, ${service}`
}

/**
 * The sessions that escalated a finding to each other, from first to last.
 * @param {{api: Api, feed: Feed, later?: any, now?: () => number}} dependencies
 */
export function chain({ api, feed, later, now = Date.now }) {
  /** @type {() => void} */
  let reloadSoon = () => {}
  return {
    id: /** @type {number | null} */ (null),
    items: /** @type {Session[]} */ ([]),
    handoffs: /** @type {Handoff[]} */ ([]),

    /** @param {number} id @returns {Promise<void>} */
    open(id) {
      if (id !== this.id && !this.items.some((row) => row.id === id)) Object.assign(this, { items: [], handoffs: [] })
      this.id = id
      reloadSoon = throttle(() => this.id !== null && this.load(this.id), { later, now })
      return this.load(id)
    },

    exit() {
      this.id = null
    },

    /** @param {number} id */
    async load(id) {
      const response = await api.get(`/sessions/${id}/chain`).catch(() => null)
      if (!response || this.id !== id) return
      this.items = response.items
      this.handoffs = response.handoffs
      feed.replay(response.seq, "session", this.follow.bind(this))
      feed.read(response.seq)
    },

    /** A session of this chain changed, or a new one joined it. @param {Change} change */
    follow({ row }) {
      if (this.id === null || !row) return
      const existing = this.items.find((item) => item.id === row.id)
      if (!existing) {
        if (this.has(row.parent_id)) reloadSoon()
        return
      }
      if (existing.version >= row.version) return
      this.items = this.items.map((item) => (item.id === row.id ? row : item))
      if (existing.status !== row.status) reloadSoon()
    },

    /** An escalation of this chain was recorded, or changed. @param {Change} change */
    followHandoff({ row }) {
      if (row && this.has(row.session_id)) reloadSoon()
    },

    /** @param {number | null} id */
    has(id) {
      return id !== null && this.items.some((row) => row.id === id)
    },

    get shown() {
      return this.items.length > 1 || this.handoffs.length > 0
    },
  }
}
