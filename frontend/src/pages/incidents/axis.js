import { duration } from "../../shared/format/format.js"
import { dollars } from "../../shared/format/spending.js"
import { t } from "../../shared/texts/index.js"

/** @typedef {import("../../charts/time-chart.js").Bar} Bar @typedef {import("../../charts/time-chart.js").Span} Span */
const LEAST_MS = 5 * 60_000
const MINUTE_MS = 60_000
const STATES = /** @type {Record<string, string>} */ ({
  needs_person: "bad",
  waiting_for_approval: "flame",
  investigating: "ink",
  repairing: "ink",
})
const LEVELS = /** @type {Record<string, string>} */ ({ critical: "bad", warning: "flame" })

/**
 * The time span of an incident's axis: from shortly before its first failure until after its end.
 * @param {Incident} one
 * @param {number} now
 */
export function spanOf({ started_at: started, resolved_at: resolved }, now) {
  const [from, to] = [Date.parse(started), resolved ? Date.parse(resolved) : now]
  const margin = Math.max(LEAST_MS, (to - from) / 5)
  return { from: from - margin, to: Math.min(now, to + margin) }
}

/**
 * The results of a check as spans around their times, with gaps where results are missing.
 * @param {{points: {at: string, state: string, latency_ms: number | null}[], aggregates: any[]}} check @returns {Span[]}
 */
export function resultSpans({ points, aggregates }) {
  const times = points.map(({ at }) => Date.parse(at))
  const gaps = times.slice(1).map((at, n) => at - times[n])
  const gap = gaps.toSorted((a, b) => a - b)[Math.floor(gaps.length / 2)] ?? MINUTE_MS
  const single = points.map(({ state, latency_ms: ms }, n) => ({
    at: times[n] - gap / 2,
    end: times[n] + gap / 2,
    p50: ms,
    p95: null,
    max: ms,
    count: 1,
    failures: Number(state === "failed"),
  }))
  const aggregated = aggregates.map(({ at, count, failures, p50_ms: p50, p95_ms: p95, max_ms: max }) => ({
    ...{ at: Date.parse(at), end: Date.parse(at) + LEAST_MS },
    ...{ p50, p95, max, count, failures },
  }))
  return [...single, ...aggregated]
}

/**
 * The events of an incident, as lanes of the axis.
 * @param {IncidentDetail} incident
 * @param {number} now
 * @param {(name: string) => string} labelOf
 */
export function lanesOf(incident, now, labelOf) {
  const end = incident.resolved_at ? Date.parse(incident.resolved_at) : now
  const marks = (/** @type {string[]} */ kinds) =>
    incident.timeline
      .filter(({ kind }) => kinds.includes(kind))
      .map(({ at, text, level, service }) =>
        mark(at, [service, text].filter(Boolean).join(": "), LEVELS[level] ?? "ink"),
      )
  const failing = incident.members.map(({ service, joined_at: from, recovered_at: to }) =>
    bar(from, to ? Date.parse(to) : end, service, "bad"),
  )
  const sessions = incident.sessions.map((session) =>
    bar(session.started_at, session.ended_at ? Date.parse(session.ended_at) : now, sessionWords(session), "ink"),
  )
  return [
    { name: t("incidents.laneFailing"), bars: failing },
    { name: t("incidents.laneState"), bars: states(incident, end, labelOf) },
    { name: t("incidents.laneSessions"), bars: sessions },
    { name: t("incidents.laneActions"), bars: marks(["action", "approval"]) },
    { name: t("incidents.laneEvents"), bars: marks(["event", "alert", "note", "acknowledged"]) },
  ].filter(({ bars }) => bars.length > 0)
}

/**
 * Each state until the next one.
 * @param {IncidentDetail} one
 * @param {number} end
 * @param {(name: string) => string} labelOf
 */
function states({ timeline, detected_at: detected }, end, labelOf) {
  const changes = [{ at: detected, text: "open" }, ...timeline.filter(({ kind }) => kind === "state")]
  return changes
    .map(({ at, text }, n) =>
      bar(at, n + 1 < changes.length ? Date.parse(changes[n + 1].at) : end, labelOf(text), STATES[text] ?? ""),
    )
    .filter(({ from, to }) => to > from)
}

/** @param {string} from @param {number} to @param {string} label @param {string} kind @returns {Bar} */
function bar(from, to, label, kind) {
  return { from: Date.parse(from), to: Math.max(Date.parse(from) + 1, to), label, kind }
}

/** @param {string} at @param {string} label @param {string} kind @returns {Bar} */
function mark(at, label, kind) {
  return { from: Date.parse(at), to: Date.parse(at), label, kind }
}

/** @param {Session} session */
function sessionWords({ id, tier, outcome, status }) {
  return t("incidents.sessionBar", { id: String(id), tier, outcome: outcome || status.replace("_", " ") })
}

/** Each session below the one that escalated to it, with its depth. @param {Session[]} sessions */
export function treeOf(sessions) {
  const ids = new Set(sessions.map(({ id }) => id))
  /** @type {(parent: number | null, depth: number) => {session: Session, depth: number}[]} */
  const descendants = (parent, depth) =>
    sessions
      .filter(({ parent_id: parentId }) =>
        parent === null ? parentId === null || !ids.has(parentId) : parentId === parent,
      )
      .flatMap((session) => [{ session, depth: Math.min(depth, 3) }, ...descendants(session.id, depth + 1)])
  return descendants(null, 0)
}

/** A text for the number of sessions, their time and their cost. @param {Session[]} sessions @param {number} now */
export function workWords(sessions, now) {
  if (!sessions.length) return ""
  const totalMs = sessions.reduce(
    (sum, { started_at: from, ended_at: to }) => sum + (to ? Date.parse(to) : now) - Date.parse(from),
    0,
  )
  const costs = sessions.map(({ cost_usd: cost }) => cost).filter((cost) => cost !== null)
  const cost = costs.length ? dollars(costs.reduce((sum, amount) => sum + amount, 0)) : ""
  return [t("incidents.nSessions", { n: sessions.length }), duration(Math.max(0, totalMs)), cost]
    .filter(Boolean)
    .join(", ")
}

/** @param {string | null} from @param {string | null} to */
function between(from, to) {
  return from && to ? duration(Math.max(0, Date.parse(to) - Date.parse(from))) : "–"
}

/**
 * Two incidents of the same cause, compared figure by figure.
 * @param {IncidentDetail} incident
 * @param {IncidentDetail} previous
 * @param {number} now
 * @param {(row: Incident) => string} outcome
 */
export function compared(incident, previous, now, outcome) {
  /** @type {(key: string, of: (each: IncidentDetail) => string) => {key: string, now: string, before: string}} */
  const row = (key, valueOf) => ({ key, now: valueOf(incident), before: valueOf(previous) })
  const firstAction = (/** @type {IncidentDetail} */ { timeline }) =>
    timeline.find(({ kind, text }) => kind === "action" && !/: (refused|would|unneeded)/.test(text))?.at ?? null
  const actions = (/** @type {IncidentDetail} */ { timeline }) =>
    timeline
      .filter(({ kind }) => kind === "action")
      .map(({ text }) => text.replace(/\.(\s.*)?$/s, ""))
      .join(", ") || t("incidents.noAction")
  return [
    row("outcome", outcome),
    row("cause", ({ title, members }) => members[0]?.detail || title),
    row("detect", ({ started_at: from, detected_at: to }) => between(from, to)),
    row("act", (item) => between(item.started_at, firstAction(item))),
    row("recover", ({ started_at: from, repaired_at: repaired, resolved_at: to }) => between(from, repaired ?? to)),
    row("actions", actions),
    row("work", ({ sessions }) => workWords(sessions, now) || "–"),
    row("learned", ({ memories_learned: { length: n } }) => String(n)),
    row("confirmed", ({ memories_changed: changes }) =>
      String(changes.filter((change) => change.change === "confirmed").length),
    ),
  ].map((line) => ({ ...line, name: t(/** @type {any} */ (`incidents.compare_${line.key}`)) }))
}
