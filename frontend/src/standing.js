import { count, onDay, span, until } from "./format.js"
import { t } from "./texts.js"

const REASON_CHARS = 140
const VISIBLE_NAMES = 2

const STATES = new Map([
  ["ok", "well"],
  ["warning", "warning"],
  ["failing", "failing"],
])

/** @param {string} state */
export function stateOf(state) {
  return STATES.get(state) ?? "unknown"
}

/** How the services stand, as a colleague would say it. @param {Service[]} services */
export function sentence(services) {
  const in_ = (/** @type {string} */ state) => services.filter((service) => service.state === state)
  const [well, failing, warning] = [in_("ok"), in_("failing"), in_("warning")]
  const unseen = services.length - well.length - failing.length - warning.length
  if (!services.length) return "No service is declared yet."
  if (unseen === services.length) return unseenWords(services)
  if (well.length === services.length) return wellWords(services)
  return [fails(failing), warns(warning, failing), rest(well.length, services.length, unseen)].filter(Boolean).join(" ")
}

/** @param {Service[]} services */
function unseenWords([first, ...others]) {
  return others.length ? "No service has been looked at yet." : `${first.name} has not been looked at yet.`
}

/** @param {Service[]} services */
function wellWords(services) {
  if (services.length === 1) return `${services[0].name} is well.`
  return services.length === 2 ? "Both services are well." : `All ${services.length} services are well.`
}

/** @param {Service[]} failing */
function fails(failing) {
  if (!failing.length) return ""
  return failing.length === 1 ? said(`${failing[0].name} fails`, reason(failing[0])) : `${named(failing)} fail.`
}

/** @param {Service[]} warning @param {Service[]} failing */
function warns(warning, failing) {
  if (!warning.length) return ""
  if (warning.length > 1) return `${named(warning)} have warnings.`
  return said(`${warning[0].name} has a warning`, failing.length ? "" : reason(warning[0]))
}

/** @param {number} well @param {number} total @param {number} unseen */
function rest(well, total, unseen) {
  if (total === 1) return ""
  const others = unseen ? `, ${unseen} not looked at yet` : ""
  if (!well) return others ? `None of ${total} is well${others}.` : ""
  return `${well} of ${total} ${well === 1 ? "is" : "are"} well${others}.`
}

/** @param {Service[]} services */
function named(services) {
  const names = services.map(({ name }) => name)
  if (names.length <= VISIBLE_NAMES) return names.join(" and ")
  return `${names.slice(0, VISIBLE_NAMES).join(", ")} and ${names.length - VISIBLE_NAMES} more`
}

/** @param {string} start @param {string} why */
function said(start, why) {
  return `${start}${why && `: ${why}`}.`
}

/** Why a service is not well: what its first bad check says, short enough for a sentence. @param {Service} service */
function reason({ checks, detail, state }) {
  const bad = checks.find((check) => (state === "failing" ? check.ok === false : check.warned))
  const words = (bad?.detail || detail).trim().replace(/\.$/, "")
  return words.length > REASON_CHARS ? `${words.slice(0, REASON_CHARS).trimEnd()}…` : words
}

/** How long it has been so. @param {Service} service @param {number} now */
export function sinceWords({ since }, now) {
  if (!since) return ""
  const seconds = Math.max(0, Math.round((now - Date.parse(since)) / 1_000))
  return seconds < 10 ? "just now" : `for ${span(seconds)}`
}

/** What a service's checks come to, in one line. @param {Service} service */
export function checksWords({ checks, actions }) {
  const failed = checks.filter(({ ok }) => ok === false).length
  const warned = checks.filter(({ ok, warned }) => ok && warned).length
  const unseen = checks.filter(({ ok }) => ok === null).length
  const all = count(checks.length, "check")
  const acts = actions.length ? `, ${count(actions.length, "action")}` : ""
  if (failed) return `${failed} of ${all} fail${failed === 1 ? "s" : ""}${acts}`
  if (warned) return `${warned} of ${all} with a warning${acts}`
  if (!checks.length) return `no checks${acts}`
  return `${all}${unseen === checks.length ? ", not looked at yet" : ""}${acts}`
}

/** @param {Check} check */
export function checkState({ ok, warned }) {
  if (ok === null) return "unknown"
  if (!ok) return "failing"
  return warned ? "warning" : "ok"
}

/** What a check found: its status, how long it took, and what it says. @param {Check} check */
export function checkWords({ ok, status, latency_ms: latency, detail }) {
  if (ok === null) return "not looked at yet"
  const took = latency === null ? "" : `${latency < 10 ? latency.toFixed(1) : Math.round(latency)} ms`
  return [status === null ? "" : String(status), took, detail].filter(Boolean).join(" · ")
}

/** What there is to say of a service: what is wrong, else what its checks found. @param {Service} service */
export function detailWords({ detail, checks }) {
  return detail || checks.map((check) => `${check.name}: ${checkWords(check)}`).join("; ")
}

/** The day of a bar as people write it. @param {string} day */
export function dayName(day) {
  const [year, month, date] = day.split("-").map(Number)
  return onDay(new Date(year, month - 1, date), new Date(year, month - 1, date).getTime())
}

/** @param {StripDay} day */
export function dayState({ looks, failed, warned }) {
  if (!looks) return "none"
  if (failed) return "failing"
  return warned ? "warning" : "ok"
}

/** One day of a strip in words. @param {StripDay} day */
export function dayWords({ day, looks, failed, warned }) {
  if (!looks) return `${dayName(day)}: not looked at`
  const bad = [failed && `${failed} failed`, warned && `${warned} with a warning`].filter(Boolean)
  return `${dayName(day)}: ${count(looks, "look")}, ${bad.length ? bad.join(", ") : "all well"}`
}

/** A whole strip in words: what one should know without seeing it. @param {StripDay[]} strip */
export function stripWords(strip) {
  const seen = strip.filter(({ looks }) => looks > 0)
  if (!seen.length) return `${strip.length} days: not looked at`
  const failed = seen.filter((day) => day.failed)
  const warned = seen.filter((day) => day.warned)
  if (failed.length) return `${strip.length} days: ${badDays(failed, "failures")}`
  if (warned.length) return `${strip.length} days: ${badDays(warned, "warnings")}`
  return `${strip.length} days: no failure${seen.length < strip.length ? `, looked at on ${seen.length}` : ""}`
}

/** @param {StripDay[]} days @param {string} what */
function badDays(days, what) {
  return `${days.length} with ${what}, last ${dayName(/** @type {StripDay} */ (days.at(-1)).day)}`
}

/** @param {Pick<Cooldown, "action" | "used" | "limit">} cooldown */
export function slotWords({ action, used, limit }) {
  const all = t(action === "restart" ? "overview.restarts" : "overview.redeployments", { n: limit })
  return t("overview.used", { used, all })
}

/** When a slot comes back on its own; null when none is used. @param {Cooldown} cooldown */
export function nextSlot({ used, frees_at: frees, last_at: last, window_seconds: window }) {
  if (frees) return Date.parse(frees)
  return used && last ? Date.parse(last) + window * 1_000 : null
}

/** What is free now, and when more will be. @param {Cooldown} cooldown @param {number} now */
export function freeWords(cooldown, now) {
  const { used, limit } = cooldown
  const at = nextSlot(cooldown)
  const when = at === null ? "" : until(new Date(at).toISOString(), now, { fine: true })
  if (!used) return t("overview.free")
  if (used >= limit) return when === "now" ? t("overview.nextFreeNow") : t("overview.nextFree", { when })
  const n = limit - used
  return when && when !== "now" ? t("overview.freeAndMore", { n, when }) : t("overview.freeNow", { n })
}

/** How much of the window is left, from 1 down to 0. @param {Cooldown} cooldown @param {number} now */
export function windowLeft(cooldown, now) {
  const at = nextSlot(cooldown)
  if (at === null) return 0
  return Math.min(1, Math.max(0, (at - now) / (cooldown.window_seconds * 1_000)))
}
