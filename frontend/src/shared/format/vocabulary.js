import * as format from "./format.js"
import * as outcomes from "./outcomes.js"
import * as history from "./history.js"
import * as serviceStatus from "./status.js"
import { t } from "../texts/index.js"

const STATUS_ICONS = new Map([
  ["running", "loader"],
  ["completed", "circle-check"],
  ["failed", "circle-x"],
  ["timed_out", "timer-off"],
  ["escalated", "circle-arrow-up"],
  ["stopped", "circle-stop"],
  ["interrupted", "unplug"],
  ["healthy", "circle-check"],
  ["failing", "circle-x"],
  ["repaired", "wrench"],
  ["refused", "ban"],
  ["denied", "ban"],
  ["planned", "list"],
  ["needs_you", "hand"],
  ["handled", "hand"],
])
const LEVEL_ICONS = new Map([
  ["info", "info"],
  ["warning", "triangle-alert"],
  ["critical", "siren"],
])
const STATE_ICONS = new Map([
  ["ok", "circle-check"],
  ["warning", "triangle-alert"],
  ["failing", "circle-x"],
  ["away", "unplug"],
])

const REST = "incidents cooldowns reviews search graph notebook organizer preview health editor settings"
const brief = new Intl.NumberFormat("en", { notation: "compact" })

/**
 * The `$fmt` of the pages: rows as text, with the clock and the address that the texts depend on.
 * @param {{clock: {now: number, second: number}, live: Feed["state"], router: any, approvals?: any}} stores
 */
export function words({ clock, live, router, approvals }) {
  const isDisconnected = () => live.stale || !live.live || live.offline
  return {
    ago: (/** @type {Time} */ time) => format.ago(time, clock.now),
    timeAgo: (/** @type {Time | null} */ time) => (time ? format.timeAgo(time, clock.now) : ""),
    exact: format.exact,
    confidence: format.confidence,
    service: format.serviceName,
    services: format.serviceNames,
    state: format.stateWords,
    /** @param {Session} session */
    status: (session) =>
      session.status === "running" && !session.stopping && approvals?.of(session.id).length
        ? t("common.status_waiting")
        : format.statusWords(session),
    tier: format.tierWords,
    trigger: format.triggerWords,
    history: history.historyWords,
    textChange: history.textChange,
    otherChanges: history.otherChanges,
    outlook: (/** @type {Memory} */ memory) => format.outlook(memory, clock.now),
    statusKind: format.statusKind,
    statusIcon: (/** @type {Session} */ session) => `#icon-${STATUS_ICONS.get(format.statusKind(session)) ?? "info"}`,
    levelIcon: (/** @type {string} */ level) => `#icon-${LEVEL_ICONS.get(level) ?? "info"}`,
    serviceState: serviceStatus.stateOf,
    stateSince: (/** @type {Service} */ service) => serviceStatus.sinceWords(service, clock.now),
    stateIcon: (/** @type {string} */ state) => `#icon-${STATE_ICONS.get(state) ?? "circle-question-mark"}`,
    check: serviceStatus.checkWords,
    detail: serviceStatus.detailWords,
    checkState: serviceStatus.checkState,
    percent: format.percentWords,
    serviceAddress: (/** @type {string | null} */ name) => (name ? `/services/${encodeURIComponent(name)}` : null),
    cause: format.causeWords,
    moved: (/** @type {Learned} */ { before, after }) => format.movedWords(before, after),
    why: outcomes.whyWords,
    observation: (/** @type {Memory | null} */ memory) => memory?.observation ?? "",
    whole: (/** @type {Memory | null} */ memory) => [{ kind: "same", text: memory?.observation ?? "" }],
    confidenceOf: (/** @type {Memory | null} */ memory) => (memory ? format.confidence(memory.confidence) : ""),
    on: (/** @type {Memory | null} */ memory) => (memory?.active ? "on" : "off"),
    stateOf: (/** @type {Memory | null} */ memory) => (memory ? format.stateWords(memory) : ""),
    memoryAddress: (/** @type {Memory | null} */ memory) => (memory ? `/memories/${memory.id}` : null),
    memoryName: (/** @type {Memory | null} */ memory) =>
      memory ? t("common.memory_name", { id: String(memory.id) }) : "",
    decided: outcomes.decidedWords,
    report: (/** @type {ReportSource} */ report) => outcomes.reportWords(report),
    brief: (/** @type {number} */ n) => brief.format(n),
    command: (/** @type {{argv: string[]}} */ { argv }) => argv.join(" "),

    /** @param {Session} session */
    took({ duration_ms: durationMs, ended_at: endedAt, started_at: startedAt }) {
      if (durationMs !== null) return format.duration(durationMs)
      const end = endedAt ? Date.parse(endedAt) : Math.max(clock.second, Date.parse(startedAt))
      return format.duration(
        endedAt ? end - Date.parse(startedAt) : Math.floor((end - Date.parse(startedAt)) / 1_000) * 1_000,
      )
    },

    /** @param {RunRequest} request */
    request({ tier, services, prompt, dry_run: dry }) {
      const parts = [format.tierWords(tier), format.serviceNames(services), dry ? t("common.dry_run") : "", prompt]
      return parts.filter(Boolean).join(" · ")
    },

    /** @param {string} page */
    current(page) {
      if (router.page === page) return "page"
      const parentPages = { session: "sessions", service: "overview", trash: "memories", audit: "memories" }
      return parentPages[/** @type {keyof typeof parentPages} */ (router.page)] === page ? "true" : null
    },

    /** Whether the current page is one of those that a phone lists under "More". */
    inRest: () => REST.split(" ").includes(router.page),

    feedState: () => (live.paused ? "paused" : isDisconnected() ? "lost" : live.loaded ? "live" : "joining"),

    feedWords() {
      if (live.paused) return live.behind ? t("app.paused_behind", { n: live.behind }) : t("app.paused")
      if (live.offline) return t("app.offline_short")
      if (isDisconnected()) return t("app.reconnecting")
      return live.loaded ? t("app.live") : t("app.connecting")
    },

    /** The time since the last message, and what is shown meanwhile. */
    staleWords() {
      const seconds = Math.max(0, Math.round((clock.second - (live.at?.getTime() ?? clock.second)) / 1_000))
      const values = { age: format.span(seconds), time: format.atClock(live.at) }
      return live.offline ? t("app.offline", values) : t("app.stale", values)
    },

    address: () => router.page && location.pathname,
  }
}
