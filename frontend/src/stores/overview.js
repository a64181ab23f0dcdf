import { count } from "../format.js"
import { lookedWords, sentence } from "../standing.js"
import { soon } from "../soon.js"

const WORST_FIRST = ["failing", "warning", "unknown", "ok"]
const FEW = 3
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

/** What was learned, in numbers. @param {OverviewState["learned"]} learned */
export function learnedCounts({ learned, reinforced, weakened, faded }) {
  return [
    { n: learned, words: `${learned} new`, address: "/memories?sort=created" },
    { n: reinforced, words: `${reinforced} seen again`, address: "/memories?sort=updated" },
    { n: weakened, words: `${weakened} contradicted`, address: "/memories?sort=updated" },
    { n: faded, words: `${faded} faded`, address: "/memories?sort=updated" },
  ].filter(({ n }) => n > 0)
}

/** The figures of the last day, each with the address of its rows. @param {OverviewState} state */
export function figuresOf({ sessions, events }) {
  const tiers = Object.entries(sessions.by_tier).filter(([, n]) => n > 0)
  const cost = sessions.cost_usd
  return [
    { words: count(sessions.total, "session"), address: "/sessions" },
    ...tiers.map(([tier, n]) => ({
      words: `${n.toLocaleString("en")} of tier ${tier}`,
      address: `/sessions?tier=${tier}`,
    })),
    { words: `${events.critical.toLocaleString("en")} critical`, address: "/events?level=critical" },
    { words: count(events.warning, "warning"), address: "/events?level=warning" },
    { words: cost === null ? "cost not known" : `cost $${cost.toFixed(2)}`, address: "/sessions" },
  ]
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
    more: false,

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
        // both before either is shown: one part must not push the other down
        const [state] = await Promise.all([api.get("/overview", { since }), reviews.known || reviews.tally()])
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
      this.since = since
      this.phase = "ready"
      this.problem = ""
      supervisor.state ??= state.supervisor
      for (const entity of FOLLOWED) feed.replay(state.seq, entity, () => again())
      feed.read(state.seq)
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
      if (supervisor.away && this.services.length) return "No supervisor is running: nobody looks at the services."
      return sentence(this.services)
    },

    /** The state of the whole; when nobody looks, what was seen last is no state. */
    get mood() {
      if (!this.state || !this.services.length) return "unknown"
      return supervisor.away ? "away" : this.state.state
    },

    get looked() {
      if (!this.state) return ""
      const at = this.state.checked_at
      if (!supervisor.away) return lookedWords(at, supervisor.words, clock.second)
      return at ? `${lookedWords(at, "", clock.second)} Then: ${sentence(this.services)}` : ""
    },

    /** What is wrong in services.yaml. */
    get fault() {
      const [first] = this.state?.problems ?? []
      return first ? `${first.path}, line ${first.line}: ${first.message}` : ""
    },

    /** Somebody has seen to a service: nobody waits for a person there any more. @param {Waiting} person */
    async settle({ id }) {
      await api.put(`/escalations/${id}/settled`)
      await this.load()
    },

    get people() {
      return this.state?.people ?? []
    },

    get items() {
      return gathered(this.state?.learned.items ?? [])
    },

    get learned() {
      return this.more ? this.items : this.items.slice(0, FEW)
    },

    get hidden() {
      return this.items.length - this.learned.length
    },

    get learnedCounts() {
      return this.state ? learnedCounts(this.state.learned) : []
    },

    get figures() {
      return this.state ? figuresOf(this.state) : []
    },

    showMore() {
      this.more = true
    },
  }
}
