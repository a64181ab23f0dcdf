import { span, until } from "./format.js"
import { t } from "../texts/index.js"

const REASON_CHARS = 140
const VISIBLE_NAMES = 2

const STATES = new Map([
  ["ok", t("common.healthy")],
  ["warning", t("common.warning")],
  ["failing", t("common.failing")],
])

/** @param {string} state */
export function stateOf(state) {
  return STATES.get(state) ?? t("common.unknown")
}

/** The status of all services in a few sentences; silenced services are only counted. @param {Service[]} services */
export function sentence(services) {
  const watched = services.filter(({ silence }) => !silence)
  const n = services.length - watched.length
  const silent = n ? t("common.silent_services", { n }) : ""
  return watched.length || !n ? [watchedWords(watched), silent].filter(Boolean).join(" ") : silent
}

/** @param {Service[]} services */
function watchedWords(services) {
  const inState = (/** @type {string} */ state) => services.filter((service) => service.state === state)
  const [healthy, failing, warning] = [inState("ok"), inState("failing"), inState("warning")]
  const unchecked = services.length - healthy.length - failing.length - warning.length
  if (!services.length) return t("common.no_service")
  if (unchecked === services.length) return uncheckedWords(services)
  if (healthy.length === services.length) return healthyWords(services)
  if (failing.length === services.length && failing.length > 1) return allFailing(failing.length)
  return [
    failingWords(failing),
    warningWords(warning, failing),
    healthyCount(healthy.length, services.length, unchecked),
  ]
    .filter(Boolean)
    .join(" ")
}

/** @param {Service[]} services */
function uncheckedWords([first, ...others]) {
  return others.length ? t("common.none_checked") : t("common.one_unchecked", { name: first.name })
}

/** @param {Service[]} services */
function healthyWords(services) {
  if (services.length === 1) return t("common.one_healthy", { name: services[0].name })
  return services.length === 2 ? t("common.both_healthy") : t("common.all_healthy", { n: services.length })
}

/** @param {number} n */
function allFailing(n) {
  return n === 2 ? t("common.both_failing") : t("common.all_failing", { n })
}

/** @param {Service[]} failing */
function failingWords(failing) {
  if (!failing.length) return ""
  if (failing.length > 1) return t("common.many_failing", { names: listed(failing) })
  return withReason(t("common.one_failing", { name: failing[0].name }), reason(failing[0]))
}

/** @param {Service[]} warning @param {Service[]} failing */
function warningWords(warning, failing) {
  if (!warning.length) return ""
  if (warning.length > 1) return t("common.many_warn", { names: listed(warning) })
  return withReason(t("common.one_warns", { name: warning[0].name }), failing.length ? "" : reason(warning[0]))
}

/** @param {number} n @param {number} total @param {number} unchecked */
function healthyCount(n, total, unchecked) {
  if (total === 1) return ""
  if (!n) return unchecked ? t("common.none_healthy", { total, unchecked }) : ""
  return unchecked
    ? t("common.some_healthy_unchecked", { n, total, unchecked })
    : t("common.some_healthy", { n, total })
}

/** @param {Service[]} services */
function listed(services) {
  const names = services.map(({ name }) => name)
  const more = names.length - VISIBLE_NAMES
  if (more <= 0) return t("common.two_names", { first: names[0], second: names[1] })
  return t("common.more_names", { names: names.slice(0, VISIBLE_NAMES).join(", "), n: more })
}

/** @param {string} start @param {string} why */
function withReason(start, why) {
  return `${start}${why && `: ${why}`}.`
}

/** Why a service is unhealthy: the result of its first bad check, shortened for a sentence. @param {Service} service */
function reason({ checks, detail, state }) {
  const failed = checks.find((check) => (state === "failing" ? check.ok === false : check.warned))
  const text = (failed?.detail || detail).trim().replace(/\.$/, "")
  return text.length > REASON_CHARS ? `${text.slice(0, REASON_CHARS).trimEnd()}…` : text
}

/** How long a service has been in its state. @param {Service} service @param {number} now */
export function sinceWords({ since }, now) {
  if (!since) return ""
  const seconds = Math.max(0, Math.round((now - Date.parse(since)) / 1_000))
  return seconds < 10 ? t("common.just_now") : t("common.for_time", { time: span(seconds) })
}

/** @param {Check} check */
export function checkState({ ok, warned }) {
  if (ok === null) return "unknown"
  if (!ok) return "failing"
  return warned ? "warning" : "ok"
}

/** A check result: its status, latency and detail. @param {Check} check */
export function checkWords({ ok, status, latency_ms: latency, detail }) {
  if (ok === null) return t("common.unchecked")
  const took =
    latency === null ? "" : t("common.ms", { n: latency < 10 ? latency.toFixed(1) : String(Math.round(latency)) })
  return [status === null ? "" : String(status), took, detail].filter(Boolean).join(" · ")
}

/** The detail of a service: its problem, otherwise its check results. @param {Service} service */
export function detailWords({ detail, checks }) {
  return detail || checks.map((check) => `${check.name}: ${checkWords(check)}`).join("; ")
}

/** @param {Pick<Cooldown, "action" | "used" | "limit">} cooldown */
export function slotWords({ action, used, limit }) {
  const limitText = t(action === "restart" ? "overview.restarts" : "overview.redeployments", { n: limit })
  return t("overview.used", { used, all: limitText })
}

/** The time at which a slot becomes free; null if none is used. @param {Cooldown} cooldown */
export function nextSlot({ used, frees_at: frees, last_at: last, window_seconds: window }) {
  if (frees) return Date.parse(frees)
  return used && last ? Date.parse(last) + window * 1_000 : null
}

/** The free slots, and the time of the next one. @param {Cooldown} cooldown @param {number} now */
export function freeWords(cooldown, now) {
  const { used, limit } = cooldown
  const at = nextSlot(cooldown)
  const when = at === null ? "" : until(new Date(at).toISOString(), now, { fine: true })
  if (!used) return t("overview.free")
  if (used >= limit) return when === t("common.now") ? t("overview.nextFreeNow") : t("overview.nextFree", { when })
  const n = limit - used
  return when && when !== t("common.now") ? t("overview.freeAndMore", { n, when }) : t("overview.freeNow", { n })
}

/** The remaining share of the window, from 1 down to 0. @param {Cooldown} cooldown @param {number} now */
export function windowLeft(cooldown, now) {
  const at = nextSlot(cooldown)
  if (at === null) return 0
  return Math.min(1, Math.max(0, (at - now) / (cooldown.window_seconds * 1_000)))
}
