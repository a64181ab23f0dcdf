import { focusAfter, focusOn } from "../../shared/browser/focus.js"
import { revealIn } from "../../shared/directives/rows.js"
import { clockSeconds, exact, span } from "../../shared/format/format.js"
import { costWords } from "../../shared/format/spending.js"
import { msWords } from "../service/page.js"
import { compared, lanesOf, resultSpans, spanOf, treeOf, workWords } from "./axis.js"
import { t } from "../../shared/texts/index.js"

const KINDS = /** @type {Record<string, string>} */ ({
  resolved: "completed",
  needs_person: "needs_you",
  waiting_for_approval: "needs_you",
})

/** A text of this page by a term of the API. @param {string} name */
const label = (name) => t(/** @type {import("../../shared/texts/index.js").TextKey} */ (`incidents.${name}`))

/** The time of day to the second. @param {string} at */
const second = (at) => new Date(at).toTimeString().slice(0, 8)

/** The outcome of an incident, or its current state. @param {Incident} row @param {number} now */
export function outcomeWords(row, now) {
  const { started_at: from } = row
  const to = row.repaired_at ?? row.resolved_at
  const time = span(Math.max(to ? 1 : 0, Math.round(((to ? Date.parse(to) : now) - Date.parse(from)) / 1_000)))
  if (row.state !== "resolved") return t("incidents.since", { state: label(row.state), time })
  if (row.outcome === "merged") return t("incidents.merged", { id: String(row.merged_into) })
  const outcome =
    row.outcome === "repaired" ? t("incidents.repairedBy", { action: row.action }) : label(row.outcome || "recovered")
  return t("incidents.after", { outcome, time })
}

/** The outcome of an incident, or the name of its state beside its age. @param {Incident} row @param {number} now */
export function stateWords(row, now) {
  return row.state === "resolved" ? outcomeWords(row, now) : label(row.state)
}

/** The kind of the outcome, which selects the icon. @param {Incident} row */
export function outcomeKind({ state, outcome }) {
  return state === "resolved" && outcome === "unresolved" ? "stopped" : (KINDS[state] ?? "failing")
}

/** @param {Incident} row */
export function outcomeIcon({ state, outcome }) {
  if (state !== "resolved") return state === "open" ? "#icon-triangle-alert" : "#icon-wrench"
  return outcome === "unresolved" ? "#icon-circle-stop" : "#icon-circle-check"
}

const isFailed = (/** @type {{state: string}} */ { state }) => state === "failed"
const hasFailures = (/** @type {{failures: number}} */ aggregate) => aggregate.failures > 0

/** @param {(name: string) => any} store */
export function incidentsPage(store) {
  const incidents = store("incidents")
  const list = store("incidentList")
  const [clock, router] = [store("clock"), store("router")]
  return {
    outcome: (/** @type {Incident} */ row) => outcomeWords(row, clock.now),
    state: (/** @type {Incident} */ row) => stateWords(row, clock.now),
    /** The list, or the incident of the page. */
    part: () => (incidents.id === null ? list : incidents),
    /** @param {Incident} row */
    rowClass: ({ id }) => ({ "is-fresh": list.fresh[id] }),
    reveal: () => revealIn(list),
    kind: outcomeKind,
    icon: outcomeIcon,

    /** @param {Incident} row */
    others({ service, services }) {
      const names = services.filter((name) => name !== service)
      return names.length ? t("incidents.also", { names: names.join(", ") }) : ""
    },

    openWords() {
      return list.openWords
    },

    filter: (/** @type {Record<string, string>} */ choice) => router.go(router.with(choice)),
    filtered: () => list.which !== "" || list.service !== "",
    dropLabel: () => t("incidents.dropService", { name: list.service }),

    /** Latency of the check that failed, and the events, on one axis. */
    axis() {
      const { one: incident, series } = incidents
      if (!incident) return null
      const now = clock.now
      const checks = series?.checks ?? []
      const check = checks.find(
        (/** @type {any} */ candidate) => candidate.points.some(isFailed) || candidate.aggregates.some(hasFailures),
      )
      const spans = resultSpans(check ?? checks[0] ?? { points: [], aggregates: [] })
      return {
        ...spanOf(incident, now),
        spans,
        lanes: lanesOf(incident, now, label),
        label: t("incidents.axis", { name: incident.service, outcome: outcomeWords(incident, now) }),
        say: (/** @type {import("../../charts/time-chart.js").Span} */ span) =>
          [clockSeconds((span.at + span.end) / 2), span.failures ? t("common.failed") : msWords(span.p50)].join(" · "),
      }
    },

    tree: () => treeOf(incidents.one?.sessions ?? []),
    workWords: () => workWords(incidents.one?.sessions ?? [], clock.now),
    /** @param {Session} session */
    cost: (session) => (session.cost_usd === null ? "" : costWords(session)),

    comparison() {
      const { one: incident, previous } = incidents
      return incident && previous ? compared(incident, previous, clock.now, (row) => outcomeWords(row, clock.now)) : []
    },
    previousName: () => (incidents.previous ? t("incidents.title", { id: String(incidents.previous.id) }) : ""),

    second: (/** @type {TimelineItem} */ { at }) => second(at),
    name: () => t("incidents.title", { id: String(incidents.id) }),
    live: () => incidents.one?.state !== "resolved",
    week: () => t("incidents.week", { n: incidents.one.same_root.week }),
    kindWords: (/** @type {TimelineItem} */ { kind }) => label(`kind_${kind}`),

    /** A state is a word of the catalog. @param {TimelineItem} item */
    itemText: ({ kind, text }) => (kind === "state" ? label(text) : text),
    /** @param {TimelineItem} item */
    itemService: ({ service, text }) => (service && !text.startsWith(service) ? service : ""),
    ofSession: (/** @type {TimelineItem} */ { kind }) => kind.startsWith("session_"),

    /** @param {TimelineItem} item */
    sessionWords: ({ kind, text, session_id: id }) =>
      kind.startsWith("session_")
        ? text.replace(/^Session /, "")
        : id
          ? t("incidents.session", { id: String(id) })
          : "",
    mayAcknowledge: () => incidents.one && incidents.one.state !== "resolved" && !incidents.one.acknowledged_at,

    targetWords: (/** @type {Incident} */ { id, title }) => t("incidents.target", { id: String(id), title }),

    /** The effects of a merge, one per line. */
    mergePreview() {
      const { one: incident, targets, into } = incidents
      const target = targets?.find((/** @type {Incident} */ { id }) => String(id) === into)
      if (!incident || !target) return []
      const names = incident.services.filter((/** @type {string} */ name) => !target.services.includes(name))
      const [id, targetId] = [String(incident.id), String(target.id)]
      return [
        t("incidents.mergeCloses", { id, into: targetId }),
        names.length ? t("incidents.mergeServices", { into: targetId, names: names.join(", ") }) : "",
        incident.sessions.length ? t("incidents.mergeSessions", { n: incident.sessions.length, into: targetId }) : "",
        Date.parse(incident.started_at) < Date.parse(target.started_at)
          ? t("incidents.mergeStarts", { into: targetId, at: exact(incident.started_at) })
          : "",
        t("incidents.mergeRequest", { id }),
      ].filter(Boolean)
    },

    /** After a save the button is disabled until the note changes again. */
    async saveNote() {
      await incidents.saveNote()
      focusAfter(() => document.querySelector("[data-incident-note]"))
    },

    async startMerge() {
      await incidents.startMerge()
      focusOn(incidents.into === "" ? "[data-merge-cancel]" : "[data-merge-into]")
    },

    cancelMerge() {
      incidents.cancelMerge()
      focusOn("[data-merge-open]")
    },

    async merge() {
      const targetId = await incidents.merge()
      if (targetId !== null) store("router").go(`/incidents/${targetId}`)
    },

    merged: () => incidents.one?.outcome === "merged",

    /** @param {IncidentDetail["members"][number]} member */
    memberWords({ failures, recovered_at: at }) {
      const recovery = at ? t("incidents.memberWell", { at: second(at) }) : t("incidents.memberIll")
      return `${t("incidents.failures", { n: failures })}, ${recovery}`
    },

    /** The change to a memory from before the incident. @param {{change: string}} each */
    changeWords: ({ change }) => label(change),

    memoryWords: (/** @type {{id: number}} */ { id }) => t("incidents.memory", { id: String(id) }),

    /** The available durations, each with its name. @param {Record<string, string>} names */
    times(names) {
      const incident = incidents.one
      return Object.entries(names).flatMap(([field, name]) =>
        incident[field] ? [{ field, name, at: incident[field], exact: exact(incident[field]) }] : [],
      )
    },
  }
}
