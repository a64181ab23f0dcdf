import { dollars } from "../../shared/format/spending.js"
import { t } from "../../shared/texts/index.js"

/**
 * Several changes of one memory become one item, from its first value to its current value.
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

/** Recently learned memories by cause: their number and the latest texts. @param {OverviewState["learned"]} learned */
export function learnedGroups(learned) {
  return CAUSES.map((cause) => ({
    cause,
    n: learned[COUNTED[cause]],
    items: gathered(learned.items.filter((item) => item.cause === cause)),
  })).filter(({ n, items }) => n > 0 || items.length > 0)
}

/** The figures of the last day, each with a link to its rows. @param {OverviewState} state */
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

/** The cost reported by the engines; a cost that none of them reports is not zero. @param {OverviewState["run"]} run */
export function costWords({ today, month }) {
  if (month.cost_usd === null) return t("overview.noCost")
  const rounded = (/** @type {number | null} */ cost) => (cost ?? 0).toFixed(2)
  return t("overview.cost", { today: rounded(today.cost_usd), month: rounded(month.cost_usd) })
}

/**
 * The remaining budget for models within 24 hours; empty if no model ran or there is no limit.
 * @param {Spending | undefined} spending
 */
export function dayWords(spending) {
  const { day = null, day_spent: spent = 0 } = spending ?? {}
  return day === null || !spent ? "" : t("overview.daily", { spent: dollars(spent), day: dollars(day) })
}

/** @param {OverviewState["run"]} run */
export function turnsWords({ month: { turns } }) {
  return turns === null ? t("overview.noTurns") : t("overview.turns", { n: turns })
}

const TIERS = ["", "observe", "investigate", "remediate"]
const FAILED = /** @type {const} */ (["failed", "timed_out", "interrupted"])
const ENDED = ["completed", "escalated", ...FAILED]
/** The states that the share counts. */
const COUNTED_STATES = /** @type {const} */ ([...FAILED, "escalated"])

/** The last days of a tier: its bars, and the outcomes of its sessions. @param {OverviewState["run"]} run */
export function tiersOf({ days, ended }) {
  return [1, 2, 3].map((tier) => {
    const counts = ended[tier] ?? {}
    const countOf = (/** @type {readonly string[]} */ states) =>
      states.reduce((sum, state) => sum + (counts[state] ?? 0), 0)
    const values = days.map(({ by_tier: byTier }) => byTier[tier] ?? 0)
    const n = values.reduce((sum, value) => sum + value, 0)
    const address = `/sessions?tier=${tier}&from=${days[0]?.day}`
    return {
      tier,
      n,
      name: t("overview.tierName", { tier: String(tier), name: TIERS[tier] }),
      address,
      bars: barsOf(days, values),
      barWords: t("overview.tierBars", { n, most: Math.max(0, ...values) }),
      share: shareWords(n, countOf(ENDED)),
      links: COUNTED_STATES.filter((status) => counts[status] > 0).map((status) => ({
        words: t(`overview.tier_${status}`, { n: counts[status] }),
        address: `${address}&status=${status}`,
      })),
    }
  })
}

/**
 * The outcome of a session says nothing about the service, so no success rate is shown.
 * @param {number} n
 * @param {number} ended
 */
function shareWords(n, ended) {
  if (!n) return t("overview.tierNone")
  return ended ? "" : t("overview.tierNotYet")
}

/** @param {{day: string}[]} days @param {number[]} values @returns {import("../../charts/plot.js").Spec} */
function barsOf(days, values) {
  return {
    x: days.map(({ day }) => Date.parse(`${day}T12:00:00Z`) / 1_000),
    series: [{ values, role: "ink", kind: "bars" }],
    height: 36,
    bare: true,
    y: { min: 0 },
  }
}
