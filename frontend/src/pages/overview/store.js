import { momentOf, timeAgo, until } from "../../shared/format/format.js"
import { throttle } from "../../shared/browser/throttle.js"
import { hasFilter, matchesFilter } from "../../shared/format/filter.js"
import { sentence } from "../../shared/format/status.js"
import { costWords, dayWords, figuresOf, gathered, learnedGroups, tiersOf, turnsWords } from "./figures.js"
import { attention } from "./attention.js"
import { openIncidents } from "./open-incidents.js"
import { t } from "../../shared/texts/index.js"

const WORST_FIRST = ["failing", "warning", "unknown", "ok"]
const FEW = 3
const MANY = 50
const BEAT_MS = 5_000
const UPTIME_MS = 300_000
export const FOLLOWED = ["session", "event", "cooldown", "memory", "request", "escalation", "incident"]

/** The worst state first, then the order of services.yaml. @param {Service[]} services */
export function inOrder(services) {
  return services.toSorted((a, b) => WORST_FIRST.indexOf(a.state) - WORST_FIRST.indexOf(b.state))
}

/**
 * The updated services in their previous order; a new one comes last.
 * @param {Service[]} services
 * @param {Service[]} previous
 */
export function inPlace(services, previous) {
  const indexes = new Map(previous.map(({ name }, at) => [name, at]))
  const indexOf = (/** @type {Service} */ { name }) => indexes.get(name) ?? previous.length
  return services.toSorted((a, b) => indexOf(a) - indexOf(b))
}

/**
 * The new services; the row of a known one remains, with its new values, so that only what changed is drawn again.
 * @param {Service[]} services
 * @param {Service[]} previous
 */
export function updated(services, previous) {
  const rows = new Map(previous.map((row) => [row.name, row]))
  return services.map((service) => {
    const row = rows.get(service.name)
    if (!row) return { ...service }
    const changes = Object.entries(service).filter(
      ([name, value]) => JSON.stringify(value) !== JSON.stringify(row[/** @type {keyof Service} */ (name)]),
    )
    return Object.assign(row, Object.fromEntries(changes))
  })
}

/** @param {string} name @param {Service[]} services */
function groupWords(name, services) {
  const failingCount = services.filter(({ state }) => state === "failing").length
  const n = services.length
  return name && t(failingCount ? "overview.groupFailing" : "overview.group", { name, n, bad: failingCount })
}

/**
 * The overall status, in one response. It is reloaded, at most once a second, when the feed reports a change; the
 * services keep their order while the page is open, until the operator orders them.
 * @param {{api: Api, feed: Feed, supervisor: any, reviews: any, approvals: any, halt: any, clock: {now: number, second: number}, heartbeats: any, visit: any, later?: any, now?: () => number}} dependencies
 */
export function overview({
  api,
  feed,
  supervisor,
  reviews,
  approvals,
  halt,
  clock,
  heartbeats,
  visit,
  later,
  now = Date.now,
}) {
  let lastRequestId = 0
  /** @type {() => void} */
  let reloadSoon = () => {}
  return {
    state: /** @type {OverviewState | null} */ (null),
    services: /** @type {Service[]} */ ([]),
    since: /** @type {Time | null} */ (null),
    phase: "loading",
    problem: "",
    busy: false,
    ordered: false,
    here: false,
    /** The full list of one cause, opened by its count. */
    all: { cause: "", items: /** @type {Learned[]} */ ([]), next: /** @type {string | null} */ (null), busy: false },
    charts: /** @type {ReturnType<typeof tiersOf>} */ ([]),
    beat: 0,
    stripsAt: 0,
    filter: "",
    incidents: openIncidents(),
    attention: attention(),

    visit() {
      this.here = true
      this.incidents.places = this.attention.places = 0
      this.ordered = false
      visit.touch()
      reloadSoon = throttle(() => this.here && this.load(), { later, now })
      this.load()
      this.loadStrips()
    },

    loadStrips() {
      this.stripsAt = now()
      heartbeats.load()
    },

    exit() {
      this.here = false
    },

    /** Any activity of the operator: after a long pause it begins a new visit. */
    touch() {
      if (visit.touch() && this.here) this.load()
    },

    async load() {
      const requestId = ++lastRequestId
      this.busy = true
      try {
        const since = visit.since
        const state = await api.get("/overview", { since, strip: 0 })
        if (requestId === lastRequestId) this.take(state, since)
      } catch (problem) {
        if (requestId === lastRequestId) this.fail(/** @type {Error} */ (problem))
      }
      if (requestId === lastRequestId) this.busy = false
    },

    /** @param {OverviewState} state @param {Time | null} since */
    take(state, since) {
      this.state = state
      this.incidents.take(state)
      this.attention.take(state.people ?? [])
      const rows = updated(state.services, this.services)
      const services = this.ordered ? inPlace(rows, this.services) : inOrder(rows)
      const isSame = services.length === this.services.length && services.every((row, at) => row === this.services[at])
      if (!isSame) this.services = services
      this.ordered = true
      if (since !== this.since) this.closeAll()
      this.since = since
      this.redraw(state.run)
      this.phase = "ready"
      this.problem = ""
      supervisor.state ??= state.supervisor
      for (const entity of FOLLOWED) feed.replay(state.seq, entity, () => reloadSoon())
      feed.read(state.seq)
    },

    /** Redraw a chart only if its figures changed. @param {OverviewState["run"]} run */
    redraw(run) {
      const tiers = tiersOf(run)
      if (JSON.stringify(tiers) !== JSON.stringify(this.charts)) this.charts = tiers
    },

    /** @param {Error} problem */
    fail(problem) {
      this.problem = problem.message
      this.phase = this.state ? this.phase : "failed"
    },

    follow() {
      if (this.here) reloadSoon()
    },

    /**
     * A check that starts to fail or to pass changes a state; all other results only update the strips.
     * @param {NewResult[]} items
     */
    followResults(items) {
      if (!this.here || !this.state) return
      const checks = new Map(
        this.services.flatMap((service) => service.checks.map((check) => [`${service.name} ${check.name}`, check])),
      )
      const differs = (/** @type {NewResult} */ { service, check, state }) => {
        const knownCheck = checks.get(`${service} ${check}`)
        return knownCheck && (knownCheck.ok !== (state !== "failed") || knownCheck.warned !== (state === "warned"))
      }
      if (items.some(differs)) reloadSoon()
      const newest = items.reduce((latest, { at }) => (at > latest ? at : latest), this.state.checked_at ?? "")
      if (newest !== this.state.checked_at) this.state.checked_at = newest
    },

    /** The services that match the filter, by group; a group is placed at its first service. */
    get groups() {
      const matching = this.services.filter(({ name, group, tags, state }) =>
        matchesFilter(this.filter, [name, group, state, ...tags]),
      )
      /** @type {Map<string, Service[]>} */
      const groups = new Map()
      for (const service of matching) groups.set(service.group, [...(groups.get(service.group) ?? []), service])
      return [...groups].map(([name, services]) => ({ name, services, words: groupWords(name, services) }))
    },

    get filters() {
      return hasFilter(this.services.length, this.filter)
    },

    /** Whether a service is below one in a better state. */
    get disordered() {
      return inOrder(this.services).some((service, at) => service !== this.services[at])
    },

    order() {
      this.services = inOrder(this.services)
    },

    get empty() {
      return this.phase === "ready" && this.services.length === 0
    },

    get sentence() {
      if (!this.state) return ""
      if (halt.on) return t("overview.halted")
      if (supervisor.away && this.services.length) return t("overview.notChecking")
      return sentence(this.services)
    },

    /** The overall state; without a running supervisor the last known state does not count. */
    get mood() {
      if (!this.state || !this.services.length) return "unknown"
      return supervisor.away || halt.on ? "away" : this.state.state
    },

    get checked() {
      const at = this.state?.checked_at
      if (!at) return t("overview.notChecked")
      const checked = t("overview.lastChecked", { when: timeAgo(at, clock.second) })
      if (!supervisor.away && !halt.on) return checked
      const unchecked = t("overview.uncheckedSince", { at: momentOf(Date.parse(at)) })
      return t("overview.lastStatus", { checked: unchecked, sentence: sentence(this.services) })
    },

    /** The time of the next round, to the second. */
    get next() {
      const { state = "away", next_round_at: at = null } = supervisor.state ?? {}
      if (state === "away" || halt.on) return ""
      if (state === "running") return t("overview.roundRuns")
      if (!at) return t("overview.noRound")
      const when = until(at, clock.second, { fine: true })
      return when === t("common.now") ? t("overview.roundDue") : t("overview.nextRound", { when })
    },

    /** Whether the supervisor is online, or when it was last heard from. */
    get heard() {
      const at = supervisor.state?.heartbeat_at
      if (!at) return t("overview.neverRan")
      return supervisor.away ? t("overview.offline", { when: timeAgo(at, clock.second) }) : t("overview.online")
    },

    /** While the page is open, load the heartbeat as often as it is sent. @param {number} second */
    tick(second) {
      if (this.here && now() - this.stripsAt > UPTIME_MS) this.loadStrips()
      if (!this.here || second - this.beat < BEAT_MS) return
      this.beat = second
      supervisor.load()
    },

    /** The first error in services.yaml. */
    get fault() {
      const [problem] = this.state?.problems ?? []
      return problem
        ? t("overview.fault", { path: problem.path, line: String(problem.line), message: problem.message })
        : ""
    },

    /** Mark an escalation as handled. @param {Attention} person */
    async markHandled({ id }) {
      await api.put(`/escalations/${id}/handled`)
      await this.load()
    },

    get people() {
      return this.state?.people ?? []
    },

    /** The number of open contradictions; the list of reviews may be newer than the last response. */
    get cases() {
      return reviews.loaded ? reviews.waits : (this.state?.reviews.open ?? 0)
    },

    /** The number of notebook pages that need a review. */
    get pages() {
      return reviews.loaded ? reviews.pages : (this.state?.pages?.open ?? 0)
    },

    /** The number of open approvals; the store that follows them may be newer than the last response. */
    get openApprovals() {
      return approvals.loaded ? approvals.waits : (this.state?.approvals?.open ?? 0)
    },

    get waits() {
      return this.people.length > 0 || this.cases > 0 || this.pages > 0 || this.openApprovals > 0
    },

    get learned() {
      const groups = this.state ? learnedGroups(this.state.learned) : []
      return groups.map((group) => ({ ...group, ...this.shown(group) }))
    },

    /** @param {{cause: string, n: number, items: Learned[]}} group */
    shown({ cause, n, items }) {
      const showsAll = this.all.cause === cause && this.all.items.length > 0
      return {
        words: t(`overview.${/** @type {import("./figures.js").Cause} */ (cause)}`, { n }),
        open: showsAll,
        rows: showsAll ? gathered(this.all.items) : items.slice(0, FEW),
        further: showsAll && this.all.next !== null,
      }
    },

    /** Show all texts of one cause, or hide them again. @param {{cause: string}} group */
    async showAll({ cause }) {
      if (this.all.cause === cause) return this.closeAll()
      this.all = { cause, items: [], next: null, busy: false }
      await this.further()
    },

    async further() {
      const group = this.all
      const { cause, items, next } = group
      if (group.busy) return
      group.busy = true
      try {
        const since = this.state?.learned.since
        const page = await api.get("/learned", { cause, since, limit: MANY, ...(next ? { cursor: next } : {}) })
        if (this.all === group) this.all = { cause, items: [...items, ...page.items], next: page.next, busy: false }
      } finally {
        group.busy = false
      }
    },

    closeAll() {
      this.all = { cause: "", items: [], next: null, busy: false }
    },

    get figures() {
      return this.state ? figuresOf(this.state) : []
    },

    get cost() {
      return this.state ? costWords(this.state.run) : ""
    },

    get ofTheDay() {
      return dayWords(this.state?.spending)
    },

    /** Whether the budget for models today is nearly used up. */
    get short() {
      const { day = null, day_spent: spent = 0 } = this.state?.spending ?? {}
      return day !== null && spent >= 0.8 * day
    },

    /** The sessions of this month. */
    get monthly() {
      const today = this.state?.run.days.at(-1)?.day
      return today ? `/sessions?from=${today.slice(0, 8)}01` : "/sessions"
    },

    get turns() {
      return this.state ? turnsWords(this.state.run) : ""
    },
  }
}
