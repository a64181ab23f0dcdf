import { past, until } from "../format.js"
import { soon } from "../soon.js"
import { sentence } from "../standing.js"
import { t } from "../texts.js"

const WORST_FIRST = ["failing", "warning", "unknown", "ok"]
const FEW = 3
const MANY = 50
const BEAT_MS = 5_000
export const FOLLOWED = ["session", "event", "cooldown", "memory", "request", "escalation"]

/** The worst on top, then as services.yaml has them. @param {Service[]} services */
export function inOrder(services) {
  return services.toSorted((a, b) => WORST_FIRST.indexOf(a.state) - WORST_FIRST.indexOf(b.state))
}

/** The same services with what is known now, in the order of before; a new one comes last. @param {Service[]} services @param {Service[]} before */
export function inPlace(services, before) {
  const places = new Map(before.map(({ name }, at) => [name, at]))
  const place = (/** @type {Service} */ { name }) => places.get(name) ?? before.length
  return services.toSorted((a, b) => place(a) - place(b))
}

/**
 * What happened to a memory more than once is told once: what it began with and where it stands now.
 * @param {Learned[]} items newest first @returns {(Learned & {times: number})[]}
 */
export function gathered(items) {
  /** @type {Map<number, Learned[]>} */
  const groups = new Map()
  for (const item of items) groups.set(item.memory.id, [...(groups.get(item.memory.id) ?? []), item])
  return [...groups.values()].map((group) => {
    const oldest = /** @type {Learned} */ (group.at(-1))
    const cause = oldest.before === null ? oldest.cause : group[0].cause
    const times = group.every((item) => item.cause === cause) ? group.length : 1
    return { ...group[0], cause, before: oldest.before, times }
  })
}

/** @typedef {"learned" | "reinforced" | "contradicted" | "faded"} Cause */
const CAUSES = /** @type {Cause[]} */ (["learned", "contradicted", "faded", "reinforced"])
const COUNTED = /** @type {const} */ ({
  learned: "learned",
  reinforced: "reinforced",
  contradicted: "weakened",
  faded: "faded",
})

/** What was learned, by what happened: how often, and the texts of the last ones. @param {OverviewState["learned"]} learned */
export function learnedGroups(learned) {
  return CAUSES.map((cause) => ({
    cause,
    n: learned[COUNTED[cause]],
    title: t(`overview.${cause}Title`),
    items: gathered(learned.items.filter((item) => item.cause === cause)),
  })).filter(({ n, items }) => n > 0 || items.length > 0)
}

/** The figures of the last day, each with the address of its rows. @param {OverviewState} state */
export function figuresOf({ sessions, events }) {
  const tiers = Object.entries(sessions.by_tier).filter(([, n]) => n > 0)
  return [
    { key: "all", words: t("overview.sessions", { n: sessions.total }), address: `/sessions?from=${sessions.since}` },
    ...tiers.map(([tier, n]) => ({
      key: tier,
      words: t("overview.tier", { n, tier }),
      address: `/sessions?tier=${tier}&from=${sessions.since}`,
    })),
    { key: "critical", words: t("overview.critical", { n: events.critical }), address: happened("critical", events) },
    { key: "warning", words: t("overview.warnings", { n: events.warning }), address: happened("warning", events) },
  ]
}

/** @param {string} level @param {{since: Time}} events */
function happened(level, { since }) {
  return `/events?level=${level}&from=${since}`
}

/** What the engines say that it cost; what none of them says is no zero. @param {OverviewState["run"]} run */
export function costWords({ today, month }) {
  if (month.cost_usd === null) return t("overview.noCost")
  const dollars = (/** @type {number | null} */ cost) => (cost ?? 0).toFixed(2)
  return t("overview.cost", { today: dollars(today.cost_usd), month: dollars(month.cost_usd) })
}

/** @param {OverviewState["run"]} run */
export function turnsWords({ month: { turns } }) {
  return turns === null ? t("overview.noTurns") : t("overview.turns", { n: turns })
}

const TIERS = ["", "observe", "investigate", "remediate"]
const WELL = ["completed", "escalated"]
const ENDED_ILL = /** @type {const} */ (["failed", "timed_out", "interrupted"])
/** What a share of all stands for, by its rows. */
const LED = /** @type {const} */ ([...ENDED_ILL, "escalated"])

/** A tier over the last days: its bars, and how its sessions ended. @param {OverviewState["run"]} run */
export function tiersOf({ days, ended }) {
  return [1, 2, 3].map((tier) => {
    const found = ended[tier] ?? {}
    const of = (/** @type {readonly string[]} */ states) => states.reduce((sum, state) => sum + (found[state] ?? 0), 0)
    const values = days.map(({ by_tier: by }) => by[tier] ?? 0)
    const n = values.reduce((sum, each) => sum + each, 0)
    const address = `/sessions?tier=${tier}&from=${days[0]?.day}`
    const [well, ill] = [of(WELL), of(ENDED_ILL)]
    return {
      tier,
      n,
      name: t("overview.tierName", { tier: String(tier), name: TIERS[tier] }),
      address,
      bars: barsOf(days, values),
      barWords: t("overview.tierBars", { n, most: Math.max(0, ...values) }),
      share: shareWords(n, well, ill),
      links: LED.filter((status) => found[status] > 0).map((status) => ({
        words: t(`overview.tier_${status}`, { n: found[status] }),
        address: `${address}&status=${status}`,
      })),
    }
  })
}

/** @param {number} n @param {number} well @param {number} ill */
function shareWords(n, well, ill) {
  if (!n) return t("overview.tierNone")
  if (!(well + ill)) return t("overview.tierNotYet")
  return t("overview.tierShare", { share: `${Math.floor((100 * well) / (well + ill))} %` })
}

/** @param {{day: string}[]} days @param {number[]} values @returns {import("../charts/plot.js").Spec} */
function barsOf(days, values) {
  return {
    x: days.map(({ day }) => Date.parse(`${day}T12:00:00Z`) / 1_000),
    series: [{ values, role: "ink", kind: "bars" }],
    height: 36,
    bare: true,
    y: { min: 0 },
  }
}

/**
 * How everything stands, in one answer. It is read again, at most once a second, when the feed tells of a change; the
 * services keep their places while a pointer or the focus is among them.
 * @param {{api: Api, feed: Feed, supervisor: any, reviews: any, clock: {now: number, second: number}, visit: any, later?: any, now?: () => number}} with_
 */
export function overview({ api, feed, supervisor, reviews, clock, visit, later, now = Date.now }) {
  let turn = 0
  /** @type {() => void} */
  let again = () => {}
  return {
    state: /** @type {OverviewState | null} */ (null),
    services: /** @type {Service[]} */ ([]),
    since: /** @type {Time | null} */ (null),
    phase: "loading",
    problem: "",
    busy: false,
    held: false,
    here: false,
    /** What was learned by one cause, to its end: opened by its number. */
    all: { cause: "", items: /** @type {Learned[]} */ ([]), next: /** @type {string | null} */ (null), busy: false },
    charts: /** @type {ReturnType<typeof tiersOf>} */ ([]),
    beat: 0,

    visit() {
      this.here = true
      visit.touch()
      again = soon(() => this.here && this.load(), { later, now })
      this.load()
    },

    leave() {
      this.here = false
    },

    /** The operator does something: after a long silence that begins another visit. */
    touch() {
      if (visit.touch() && this.here) this.load()
    },

    async load() {
      const mine = ++turn
      this.busy = true
      try {
        const since = visit.since
        const state = await api.get("/overview", { since })
        if (mine === turn) this.take(state, since)
      } catch (problem) {
        if (mine === turn) this.fail(/** @type {Error} */ (problem))
      }
      if (mine === turn) this.busy = false
    },

    /** @param {OverviewState} state @param {Time | null} since */
    take(state, since) {
      this.state = state
      this.services = this.held ? inPlace(state.services, this.services) : inOrder(state.services)
      if (since !== this.since) this.closeAll()
      this.since = since
      this.redraw(state.run)
      this.phase = "ready"
      this.problem = ""
      supervisor.state ??= state.supervisor
      for (const entity of FOLLOWED) feed.replay(state.seq, entity, () => again())
      feed.read(state.seq)
    },

    /** A chart is drawn again only where its figures are others. @param {OverviewState["run"]} run */
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
      if (this.here) again()
    },

    hold() {
      this.held = true
    },

    release() {
      this.held = false
      if (this.state) this.services = inOrder(this.state.services)
    },

    get empty() {
      return this.phase === "ready" && this.services.length === 0
    },

    get sentence() {
      if (!this.state) return ""
      if (supervisor.away && this.services.length) return t("overview.nobodyLooks")
      return sentence(this.services)
    },

    /** The state of the whole; when nobody looks, what was seen last is no state. */
    get mood() {
      if (!this.state || !this.services.length) return "unknown"
      return supervisor.away ? "away" : this.state.state
    },

    get looked() {
      const at = this.state?.checked_at
      if (!at) return t("overview.notLooked")
      const looked = t("overview.lookedAt", { when: past(at, clock.second) })
      return supervisor.away ? t("overview.then", { looked, sentence: sentence(this.services) }) : looked
    },

    /** When one will look again, to the second. */
    get next() {
      const { state = "away", next_round_at: at = null } = supervisor.state ?? {}
      if (state === "away") return ""
      if (state === "running") return t("overview.roundRuns")
      if (!at) return t("overview.noRound")
      const when = until(at, clock.second, { fine: true })
      return when === "now" ? t("overview.roundDue") : t("overview.nextRound", { when })
    },

    /** How long ago the supervisor was heard. */
    get heard() {
      const at = supervisor.state?.heartbeat_at
      if (!at) return t("overview.neverHeard")
      return t(supervisor.away ? "overview.heardLast" : "overview.heard", { when: past(at, clock.second) })
    },

    /** While somebody looks at it the heartbeat is asked for as often as it beats. @param {number} second */
    tick(second) {
      if (!this.here || second - this.beat < BEAT_MS) return
      this.beat = second
      supervisor.load()
    },

    /** What is wrong in services.yaml. */
    get fault() {
      const [first] = this.state?.problems ?? []
      return first ? t("overview.fault", { path: first.path, line: String(first.line), message: first.message }) : ""
    },

    /** Somebody has seen to a service: nobody waits for a person there any more. @param {Waiting} person */
    async settle({ id }) {
      await api.put(`/escalations/${id}/settled`)
      await this.load()
    },

    get people() {
      return this.state?.people ?? []
    },

    /** How many contradictions wait; the list of them may know better than the last answer. */
    get cases() {
      return reviews.known ? reviews.waits : (this.state?.reviews.open ?? 0)
    },

    get learned() {
      const groups = this.state ? learnedGroups(this.state.learned) : []
      return groups.map((group) => ({ ...group, ...this.shown(group) }))
    },

    /** @param {{cause: string, n: number, items: Learned[]}} group */
    shown({ cause, n, items }) {
      const whole = this.all.cause === cause && this.all.items.length > 0
      return {
        words: t(`overview.${/** @type {Cause} */ (cause)}`, { n }),
        open: whole,
        rows: whole ? gathered(this.all.items) : items.slice(0, FEW),
        further: whole && this.all.next !== null,
      }
    },

    /** Every text of one cause, by its number; once more hides them. @param {{cause: string}} group */
    async showAll({ cause }) {
      if (this.all.cause === cause) return this.closeAll()
      this.all = { cause, items: [], next: null, busy: false }
      await this.further()
    },

    async further() {
      const asked = this.all
      const { cause, items, next } = asked
      if (asked.busy) return
      asked.busy = true
      try {
        const since = this.state?.learned.since
        const page = await api.get("/learned", { cause, since, limit: MANY, ...(next ? { cursor: next } : {}) })
        if (this.all === asked) this.all = { cause, items: [...items, ...page.items], next: page.next, busy: false }
      } finally {
        asked.busy = false
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
