import { STATUSES, TRIGGERS } from "../../../generated/values.js"
import { chains, summed } from "./chains.js"
import { momentOf } from "../../shared/format/local-time.js"
import { t } from "../../shared/texts/index.js"
import { extend, liveList } from "../../shared/stores/list.js"

/** The filters of the list in the address. @param {URLSearchParams} params */
export function sessionFilters(params) {
  const [status, tier, trigger] = ["status", "tier", "trigger"].map((name) => params.get(name) ?? "")
  return {
    status: STATUSES.includes(status) ? status : "",
    tier: ["0", "1", "2", "3"].includes(tier) ? tier : "",
    trigger: TRIGGERS.includes(trigger) ? trigger : "",
    service: params.get("service") ?? "",
    from: momentOf(params.get("from")),
  }
}

/** @typedef {ReturnType<typeof sessionFilters>} SessionFilters */

/** @param {Session} session @param {SessionFilters} filters */
export function sessionMatches(session, { status, tier, trigger, service, from }) {
  return (
    (!status || session.status === status) &&
    (!tier || String(session.tier) === tier) &&
    (!trigger || session.trigger === trigger) &&
    (!from || Date.parse(session.started_at) >= Date.parse(from)) &&
    (!service || Boolean(session.services?.some((name) => name.toLowerCase() === service.toLowerCase())))
  )
}

/** Running sessions first, then the newest. @param {Session} a @param {Session} b */
export function runningFirst(a, b) {
  return Number(b.status === "running") - Number(a.status === "running") || b.id - a.id
}

/**
 * The sessions, and the queued requests.
 * @param {{api: Api, feed: Feed, router: any, later?: (run: () => void, ms: number) => any}} dependencies
 */
export function sessions({ api, feed, router, later = setTimeout }) {
  let filters = sessionFilters(new URLSearchParams())
  const chainIndex = chains()
  const list = liveList({
    api: { ...api, get: async (path, query) => rememberRows(await api.get(path, query)) },
    feed,
    later,
    path: "/sessions",
    entity: "session",
    query: () => ({ ...filters, limit: 50 }),
    matches: (/** @type {Session} */ session) => sessionMatches(session, filters),
    compare: runningFirst,
  })
  const { apply } = list
  return extend(list, {
    filters,
    /** Whether each row is a chain of sessions, or one session. */
    grouped: false,
    /** The number of memories that each session contradicted. */
    contradicted: /** @type {Record<number, number>} */ ({}),
    stamp: 0,
    running: /** @type {number[]} */ ([]),

    /** @param {URLSearchParams} params */
    visit(params) {
      filters = sessionFilters(params)
      this.grouped = params.get("group") === "chain"
      const isUnchanged = this.phase === "ready" && JSON.stringify(filters) === JSON.stringify(this.filters)
      this.filters = filters
      if (isUnchanged) return
      chainIndex.clear()
      this.load()
    },

    /** The number of running sessions, for the sidebar of every page. */
    async tally() {
      const page = await api.get("/sessions", { status: "running", limit: 50 }).catch(() => null)
      if (page) this.running = page.items.map((/** @type {Session} */ session) => session.id)
    },

    /** @param {Change} change */
    apply(change) {
      if (change.row && change.op !== "batch") chainIndex.keep(change.row)
      this.stamp += 1
      apply.call(this, change)
    },

    /** @param {Change} change */
    follow(change) {
      if (this.phase === "ready") this.apply(change)
      const others = this.running.filter((id) => id !== change.id)
      this.running = change.row?.status === "running" ? [...others, change.id] : others
    },

    /** A session opened a review. @param {Change} change */
    followReview({ op, row }) {
      const id = row?.session_id
      if (op === "created" && id && row.kind === "conflict") this.contradicted[id] = (this.contradicted[id] ?? 0) + 1
    },

    /** The rows of the table: sessions, each with its chain, or chains. */
    get table() {
      void this.stamp
      /** @type {SessionRow[]} */
      const entries = this.shown.map((/** @type {Session} */ session) => ({
        key: `${session.id}`,
        session,
        chain: chainIndex.of(session),
      }))
      const shownEntries = this.grouped ? once(entries) : entries
      return shownEntries.map(({ key, session, chain }) => ({
        key,
        session: this.grouped ? summed(chain) : session,
        chain,
        lost: (this.grouped ? chain : [session]).reduce((total, { id }) => total + (this.contradicted[id] ?? 0), 0),
      }))
    },

    get filtered() {
      return Object.values(this.filters).some(Boolean)
    },

    get pill() {
      return t("sessions.fresh", { n: this.waiting.length })
    },

    /** @param {Record<string, any>} changes */
    filter(changes) {
      router.go(router.with(changes))
    },

    clear() {
      router.go(router.with({ status: "", tier: "", trigger: "", service: "", from: "" }))
    },
  })

  /** @param {any} page @returns {any} */
  function rememberRows(page) {
    for (const row of [...(page.items ?? []), ...(page.linked ?? [])]) chainIndex.keep(row)
    if (page.contradicted) showContradicted(page.contradicted)
    return page
  }

  /** @param {Record<number, number>} contradicted */
  function showContradicted(contradicted) {
    const store = /** @type {any} */ (list)
    store.contradicted = { ...store.contradicted, ...contradicted }
  }
}

/** @typedef {{key: string, session: Session, chain: Session[]}} SessionRow */

/** Each chain once, at the position of its first session in the list. @param {SessionRow[]} entries */
function once(entries) {
  /** @type {Set<number>} */
  const roots = new Set()
  return entries.filter(({ chain: [root] }) => !roots.has(root.id) && roots.add(root.id))
}
