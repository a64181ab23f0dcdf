import { spansOf } from "../../charts/time-scale.js"
import { exact, momentOf, percentWords } from "../../shared/format/format.js"
import { freeWords, slotWords } from "../../shared/format/status.js"
import { t } from "../../shared/texts/index.js"
import { withoutWords } from "../audit/page.js"
import { outcomeIcon, outcomeKind, stateWords } from "../incidents/page.js"
import { copy } from "../../shared/browser/clipboard.js"
import { focusAfter } from "../../shared/browser/focus.js"
import { PERIODS } from "./store.js"

/** @typedef {import("../../charts/time-chart.js").Span} Span */
const WINDOWS = /** @type {const} */ (["day", "week", "month", "quarter"])

/** A text for a latency. @param {number | null} ms */
export function msWords(ms) {
  if (ms === null) return "–"
  return t("common.ms", { n: ms < 10 ? ms.toFixed(1) : String(Math.round(ms)) })
}

/** A text for one span of a chart. @param {Span} span */
export function spanWords({ at, p50, p95, max, count, failures }) {
  const countText = t("service.spanCount", { n: count, failures })
  const latency =
    p50 === null ? "" : t("service.spanLatency", { p50: msWords(p50), p95: msWords(p95), max: msWords(max) })
  return [momentOf(at), latency, countText].filter(Boolean).join(" · ")
}

/** @param {string} period */
const periodWords = (period) => period.replace(/\D+$/, " $&")

/** A text for the whole chart. @param {Span[]} spans @param {string} period */
export function chartWords(spans, period) {
  const count = spans.reduce((sum, span) => sum + span.count, 0)
  const failures = spans.reduce((sum, span) => sum + span.failures, 0)
  const last = spans.findLast(({ p50 }) => p50 !== null)
  const span = periodWords(period)
  if (!count) return t("service.chartEmpty", { period: span })
  return t("service.chartWords", { period: span, n: count, failures, last: msWords(last?.p50 ?? null) })
}

/**
 * The median latency compared with that of the previous period.
 * @param {CheckLatency | null} check @param {string} period
 */
export function comparedWords(check, period) {
  if (!check || check.median_ms === null) return ""
  const [median, previousMedian] = [check.median_ms, check.before_ms]
  const values = { ms: msWords(median), period: periodWords(period) }
  if (previousMedian === null) return t("service.nothingBefore", values)
  const percent = Math.round((Math.abs(median - previousMedian) / (previousMedian || 1)) * 100)
  if (!percent) return t("service.same", values)
  return t(median > previousMedian ? "service.slower" : "service.faster", {
    ...values,
    before: msWords(previousMedian),
    percent,
  })
}

/** @param {(name: string) => any} store */
export function servicePage(store) {
  const [service, router] = ["service", "router"].map(store)
  const clock = store("clock")
  const row = () => /** @type {ServiceDetail} */ (service.row)
  return {
    ready: () => service.row !== null,
    row,
    periods: () => PERIODS,
    periodWords,
    periodIs: (/** @type {string} */ period) => String(service.period === period),
    choose: (/** @type {string} */ period) => router.go(router.with({ period }), { replace: true }),
    incidentsAddress: () => `/incidents?service=${encodeURIComponent(service.name)}`,
    checkNames: () => (service.latency?.checks ?? []).map((/** @type {CheckLatency} */ { check }) => check),
    chooseCheck: (/** @type {string} */ check) => router.go(router.with({ check }), { replace: true }),
    charted: () => service.charted?.check ?? "",

    uptimes: () => WINDOWS.map((key) => ({ key, name: t(`service.${key}`), words: percentWords(row().uptime[key]) })),

    /** The chart, once its data is loaded. */
    chart() {
      const { latency, charted } = service
      if (!latency) return null
      const spans = charted ? spansOf({ ...latency }, { ...charted }) : []
      return {
        from: Date.parse(latency.since),
        to: Date.parse(latency.until),
        spans,
        silences: latency.silences.map((/** @type {Latency["silences"][number]} */ { kind, since, until, reason }) => ({
          from: Date.parse(since),
          to: Date.parse(until),
          label: [t(`service.${kind}`), reason].filter(Boolean).join(": "),
        })),
        label: chartWords(spans, service.period),
        say: spanWords,
      }
    },

    compared: () => comparedWords(service.charted, service.period),

    /** The data of the chart as a table, newest first. */
    table() {
      const { latency, charted } = service
      if (!latency || !charted) return []
      return spansOf({ ...latency }, { ...charted })
        .reverse()
        .map((span) => ({
          ...span,
          time: momentOf(span.at),
          p50: msWords(span.p50),
          p95: msWords(span.p95),
          max: msWords(span.max),
        }))
    },

    silent: () => Boolean(service.row?.silence),
    /** Actions are visible during loading, so that nothing moves afterwards. */
    mayPause: () => ["loading", "ready"].includes(service.phase) && !service.row?.silence,
    mayRun: () => ["loading", "ready"].includes(service.phase),
    editAddress: () => `/editor?service=${encodeURIComponent(router.name)}`,
    paused: () => service.row?.silence?.kind === "pause",
    silence() {
      const silence = service.row?.silence
      if (!silence) return ""
      const kind = t(silence.kind === "pause" ? "overview.paused" : "overview.maintenance")
      const until = silence.until ? t("service.until", { at: momentOf(Date.parse(silence.until)) }) : ""
      return [kind + until, silence.reason].filter(Boolean).join(": ")
    },

    outcome: (/** @type {Incident} */ incident) => stateWords(incident, clock.now),
    kind: outcomeKind,
    icon: outcomeIcon,

    /** @param {Belief} belief */
    inPrompt: (belief) => withoutWords(belief),

    /** @param {Service["actions"][number]} action */
    limits({ kind }) {
      const slot = row().cooldowns.find((cooldown) => cooldown.action === kind)
      return slot ? `${slotWords(slot)}. ${freeWords(/** @type {any} */ ({ last_at: null, ...slot }), clock.now)}` : ""
    },

    /** @param {Service["actions"][number]} action */
    rule: ({ approve }) => t(`service.approve_${approve}`),

    /** @param {Service["actions"][number]} action */
    lastUse({ name }) {
      const lastUse = service.uses.find((/** @type {Use} */ lastUse) => lastUse.name === name)
      return lastUse
        ? t("service.lastUse", { outcome: lastUse.outcome.replace("_", " "), at: exact(lastUse.created_at) })
        : t("service.neverUsed")
    },

    /** @param {Service["actions"][number]} action */
    lastSession: ({ name }) => service.uses.find((/** @type {Use} */ use) => use.name === name)?.session_id ?? null,

    isPush: (/** @type {Check} */ { kind }) => kind === "push",

    facts() {
      const { depends_on: needs, group, tags, notify } = row()
      const facts = [
        ["group", group],
        ["tags", tags.join(", ")],
        ["notify", notify.join(", ")],
      ].filter(([, text]) => text)
      return {
        needs,
        rest: facts.map(([key, text]) => ({ key, name: t(/** @type {any} */ (`service.${key}`)), words: text })),
      }
    },

    path: () => `${store("services").path}:${row().line}`,
    empty: (/** @type {unknown[]} */ rows) => service.phase === "ready" && rows.length === 0,
    copyUrl: () => copy(service.pushUrl),
    runNow: () => store("runNow").show({ services: [service.name] }),
    async pause(/** @type {Event} */ event) {
      const length = new FormData(/** @type {HTMLFormElement} */ (event.target)).get("length")
      if (await service.pause(String(length))) focusAfter(() => document.querySelector("[data-resume]"))
    },
    async resume() {
      if (await service.resume()) focusAfter(() => document.querySelector(".service-pause [type=submit]"))
    },
  }
}
