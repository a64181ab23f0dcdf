import { t } from "../../shared/texts/index.js"
import { eventMatches } from "./store.js"
import { extend, liveList } from "../../shared/stores/list.js"

const AT_ONCE = 20

/**
 * @typedef {Row & {
 *   level: OpsEvent["level"], service: string | null, text: string, count: number, first_id: number, last_id: number,
 *   first_at: Time, last_at: Time, sessions: number, session_id: number | null,
 * }} EventGroup
 * @typedef {{phase: string, problem: string, rows: OpsEvent[], next: string | null, count: number}} Unfolded
 */

/**
 * A group as a row of a list: its id is that of its first event, and its version grows with each event.
 * @param {any} group
 * @returns {EventGroup}
 */
function named(group) {
  return { ...group, id: group.first_id, version: group.count }
}

/** @param {OpsEvent} event */
function alone({ id, level, service, text, session_id, created_at: at }) {
  const sessions = session_id === null ? 0 : 1
  return named({
    level,
    service,
    text,
    session_id,
    sessions,
    ...{ count: 1, first_id: id, last_id: id },
    first_at: at,
    last_at: at,
  })
}

/**
 * Whether the group may include the session of the event already: it is older than the latest session of the group.
 * @param {EventGroup} group
 * @param {OpsEvent} event
 */
function perhapsKnown({ sessions, session_id: lastSession }, { session_id: id }) {
  return sessions > 1 && id !== null && lastSession !== null && id < lastSession
}

/**
 * A group with one more event; `session_id` is the latest of its sessions.
 * @param {EventGroup} group
 * @param {OpsEvent} event
 * @returns {EventGroup}
 */
function grown(group, { id, session_id, created_at }) {
  const isOtherSession = session_id !== null && session_id !== group.session_id
  return named({
    ...group,
    count: group.count + 1,
    last_id: id,
    last_at: created_at,
    sessions: group.sessions + (isOtherSession ? 1 : 0),
    session_id: isOtherSession ? Math.max(session_id, group.session_id ?? 0) : group.session_id,
  })
}

/**
 * Events with the same text as one row. A further event increases the count of its group in place; the order is that of
 * the time of reading.
 * @param {{api: Api, feed: Feed, later?: (run: () => void, ms: number) => any}} dependencies
 */
export function eventGroups({ api, feed, later = setTimeout }) {
  let filters = /** @type {any} */ ({})
  let key = ""
  /** @type {Map<string, EventGroup>} every group read or received, including those whose row is held back */
  let groupsByText = new Map()
  const grouped = /** @type {Api} */ ({
    ...api,
    get: async (path, query) => {
      const page = await api.get(path, query)
      const items = /** @type {EventGroup[]} */ (page.items.map(named))
      if (!query?.cursor && !query?.same) groupsByText = new Map()
      if (!query?.same) items.forEach(note)
      return { ...page, items }
    },
  })
  const list = liveList({
    api: grouped,
    feed,
    later,
    path: "/events/groups",
    entity: "event",
    query: () => ({ ...filters, limit: 50 }),
    matches: (/** @type {EventGroup} */ _) => true,
    compare: (a, b) => b.last_id - a.last_id,
  })
  return extend(list, {
    /** The events of each unfolded group. */
    unfolded: /** @type {Record<number, Unfolded>} */ ({}),

    /** @param {import("./store.js").EventFilters} newFilters */
    visit(newFilters) {
      filters = newFilters
      if (this.phase === "ready" && key === JSON.stringify(newFilters)) return
      key = JSON.stringify(newFilters)
      this.unfolded = {}
      this.load()
    },

    get pill() {
      return t("events.newKinds", { n: this.waiting.length })
    },

    /** @param {Change} change */
    apply({ op, row }) {
      if (op === "batch" || op === "deleted") return void this.load()
      if (op === "created" && eventMatches(row, filters)) this.fold(row)
    },

    /** @param {OpsEvent} event */
    fold(event) {
      const group = groupsByText.get(wordsOf(event))
      if (group && event.id <= group.last_id) return
      if (group && !perhapsKnown(group, event)) return this.put(note(grown(group, event)))
      if (group) return this.ask(event)
      if (this.next === null) return this.put(note(alone(event)))
      return this.ask(event)
    },

    /**
     * Ask the server about an event of a group that was not read yet, or of a session that the group may include.
     * @param {OpsEvent} event
     */
    async ask(event) {
      const page = await grouped.get("/events/groups", { ...filters, repeats_of: event.id }).catch(() => null)
      if (!page?.items.length) return
      const [group] = page.items
      const existing = groupsByText.get(wordsOf(group))
      // another event arrived meanwhile
      if (existing && existing.last_id > group.last_id) return void this.ask({ ...event, id: existing.last_id })
      this.put(note(group))
    },

    /** @param {EventGroup} group */
    toggle(group) {
      if (this.unfolded[group.id]) delete this.unfolded[group.id]
      else this.unfold(group)
    },

    /** @param {EventGroup} group */
    async unfold({ id, last_id, count }) {
      this.unfolded[id] ??= { phase: "loading", problem: "", rows: [], next: null, count }
      const unfolded = this.unfolded[id]
      try {
        const page = await api.get("/events", { ...filters, repeats_of: last_id, limit: AT_ONCE })
        Object.assign(unfolded, { phase: "ready", problem: "", rows: page.items, next: page.next, count })
      } catch (problem) {
        Object.assign(unfolded, { phase: "failed", problem: /** @type {Error} */ (problem).message })
      }
    },

    /** @param {EventGroup} group */
    async further({ id, last_id }) {
      const unfolded = this.unfolded[id]
      try {
        const query = { ...filters, repeats_of: last_id, limit: AT_ONCE, cursor: unfolded.next }
        const page = await api.get("/events", query)
        unfolded.rows.push(...page.items)
        unfolded.next = page.next
      } catch (problem) {
        unfolded.problem = /** @type {Error} */ (problem).message
      }
    },

    /** The number of events since a group was unfolded. @param {EventGroup} group */
    behind({ id, count }) {
      const unfolded = this.unfolded[id]
      return unfolded?.phase === "ready" ? count - unfolded.count : 0
    },
  })

  /** @param {EventGroup} group */
  function note(group) {
    groupsByText.set(wordsOf(group), group)
    return group
  }
}

/** The key that equal events share. @param {{level: string, service: string | null, text: string}} event */
function wordsOf({ level, service, text }) {
  return JSON.stringify([level, service, text])
}
