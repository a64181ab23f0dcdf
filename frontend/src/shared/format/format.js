import { GRACE_DAYS, OPERATIONAL, THRESHOLD, WEEKLY_DECAY } from "../../../generated/values.js"
import { t } from "../texts/index.js"

const MINUTE = 60
const HOUR = 3_600
const DAY = 86_400
const DAY_MS = DAY * 1_000

/** @type {Intl.DateTimeFormatOptions} */
const TO_THE_SECOND = {
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
}
const thisYear = new Intl.DateTimeFormat("en-US", TO_THE_SECOND)
const anyYear = new Intl.DateTimeFormat("en-US", { ...TO_THE_SECOND, year: "numeric" })
const clockTime = new Intl.DateTimeFormat("en-US", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  timeZoneName: "short",
  hourCycle: "h23",
})
const hourAndMinute = new Intl.DateTimeFormat("en-US", { timeStyle: "short", hourCycle: "h23" })
const dayAndHour = new Intl.DateTimeFormat("en-US", {
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
})
const toTheSecond = new Intl.DateTimeFormat("en-US", { timeStyle: "medium", hourCycle: "h23" })
const dayOfYear = new Intl.DateTimeFormat("en-US", { day: "numeric", month: "short" })
const dayAndYear = new Intl.DateTimeFormat("en-US", { day: "numeric", month: "short", year: "numeric" })

/** The time, with the date unless it is today. @param {number} at */
export function momentOf(at) {
  const today = new Date().toDateString() === new Date(at).toDateString()
  return (today ? hourAndMinute : dayAndHour).format(at)
}

/** @param {number} at */
export function timeOf(at) {
  return hourAndMinute.format(at)
}

/** @param {number} at */
export function dayOf(at) {
  return dayOfYear.format(at)
}

/** The time of day to the second. @param {number} at */
export function clockSeconds(at) {
  return toTheSecond.format(at)
}

/** A share in percent, with two decimals where most values differ only there. @param {number | null} percent */
export function percentWords(percent) {
  if (percent === null) return "–"
  return t("common.percent", { n: percent >= 99.995 || percent === 0 ? percent.toFixed(0) : percent.toFixed(2) })
}

/**
 * The elapsed time in a short form: now, 40 s, 2 min, 3 h, 9 d, then the date.
 * @param {Time | null} time
 * @param {number} now
 */
export function ago(time, now) {
  if (!time) return ""
  const seconds = Math.max(0, Math.round((now - Date.parse(time)) / 1_000))
  if (seconds < 10) return t("common.now")
  if (seconds >= 60 * DAY) return onDay(new Date(time), now)
  return span(seconds)
}

/** The elapsed time within a sentence. @param {Time} time @param {number} now */
export function timeAgo(time, now) {
  const relative = ago(time, now)
  if (relative === t("common.now")) return t("common.just_now")
  return now - Date.parse(time) >= 60 * DAY_MS
    ? t("common.on_day", { day: relative })
    : t("common.ago", { age: relative })
}

/** The largest unit alone. @param {number} seconds */
export function span(seconds) {
  if (seconds < MINUTE) return t("common.s", { n: seconds })
  if (seconds < HOUR) return t("common.min", { n: Math.floor(seconds / MINUTE) })
  if (seconds < DAY) return t("common.h", { n: Math.floor(seconds / HOUR) })
  return t("common.d", { n: Math.floor(seconds / DAY) })
}

/** A time to the second, with the year unless it is the current year. @param {Time | null} time */
export function exact(time) {
  if (!time) return ""
  const at = new Date(time)
  return (at.getFullYear() === new Date().getFullYear() ? thisYear : anyYear).format(at)
}

/** @param {Date | null} time */
export function atClock(time) {
  return time ? clockTime.format(time) : ""
}

/** @param {Date} time @param {number} now */
export function onDay(time, now) {
  return (time.getFullYear() === new Date(now).getFullYear() ? dayOfYear : dayAndYear).format(time)
}

/** A duration: 0.4 s, 12 s, 3 min 20 s, 2 h 5 min. @param {number | null} milliseconds */
export function duration(milliseconds) {
  if (milliseconds === null || milliseconds < 0) return ""
  if (milliseconds < 9_950) return t("common.s", { n: (milliseconds / 1_000).toFixed(1) })
  const seconds = Math.round(milliseconds / 1_000)
  if (seconds < HOUR && seconds % MINUTE)
    return seconds < MINUTE
      ? t("common.s", { n: seconds })
      : t("common.min_s", { n: Math.floor(seconds / MINUTE), rest: seconds % MINUTE })
  const minutes = Math.floor((seconds % HOUR) / MINUTE)
  if (seconds < HOUR || !minutes) return span(seconds)
  return t("common.h_min", { n: Math.floor(seconds / HOUR), rest: minutes })
}

/**
 * The time until a point in the future: "in 48 min", "now"; `fine` counts down, "in 3 h 12 min", "in 4 s".
 * @param {Time} time @param {number} now @param {{fine?: boolean}} [how]
 */
export function until(time, now, { fine = false } = {}) {
  const seconds = Math.round((Date.parse(time) - now) / 1_000)
  if (seconds < (fine ? 1 : 5)) return t("common.now")
  return t("common.in_time", { time: fine && seconds >= MINUTE ? duration(seconds * 1_000) : span(seconds) })
}

/** @param {number} confidence */
export function confidence(confidence) {
  return confidence.toFixed(2)
}

/** The display name of a service; memories of all services are "general". @param {string | null} service */
export function serviceName(service) {
  return service ?? "general"
}

/** @param {string[] | null} services */
export function serviceNames(services) {
  return services?.length ? services.join(", ") : t("common.all_services")
}

/** @param {string} category */
export function isOperational(category) {
  return OPERATIONAL.includes(category)
}

/**
 * The time at which decay takes an operational memory below the threshold, if nothing confirms it.
 * @param {Memory} memory
 * @param {number} now
 */
export function fadesOut(memory, now) {
  if (memory.pinned || !memory.active || !isOperational(memory.category)) return null
  const start = Date.parse(memory.updated_at) + GRACE_DAYS * DAY_MS
  const weeksPassed = Math.max(0, Math.floor((now - start) / (7 * DAY_MS)))
  return new Date(start + (weeksPassed + weeksLeft(memory)) * 7 * DAY_MS)
}

/** The number of weeks of decay that take a memory below the threshold. @param {Memory} memory */
export function weeksLeft({ confidence }) {
  return Math.floor((confidence - THRESHOLD) / WEEKLY_DECAY + 1e-9) + 1
}

/** The forecast for a memory, in one sentence. @param {Memory} memory @param {number} now */
export function outlook(memory, now) {
  if (!memory.active) return inactiveWords(memory)
  if (memory.pinned) return t("common.pinned")
  const day = fadesOut(memory, now)
  return day ? t("common.fades_on", { day: onDay(day, now) }) : t("common.knowledge_stays")
}

/** @param {Memory} memory */
function inactiveWords({ inactive_reason: reason, confidence }) {
  if (confidence < THRESHOLD) return t("common.inactive_low")
  const reasonTexts = { operator: t("common.set_by_a_person"), deleted: t("common.deleted_by_a_client") }
  const reasonText = reasonTexts[/** @type {keyof typeof reasonTexts} */ (reason)] ?? reason ?? ""
  return reasonText ? t("common.inactive_because", { why: reasonText }) : t("common.inactive")
}

const REASONS = new Map([
  ["low", t("common.state_low")],
  ["operator", t("common.state_operator")],
  ["superseded", t("common.state_superseded")],
  ["archived", t("common.state_archived")],
  ["expired", t("common.state_expired")],
  ["deleted", t("common.state_deleted")],
  ["review", t("common.state_review")],
])

/** @param {Memory} memory */
export function stateWords(memory) {
  return memory.active
    ? t("common.state_active")
    : (REASONS.get(memory.inactive_reason ?? "") ?? t("common.state_inactive"))
}

const STATUS = new Map([
  ["running", t("common.status_running")],
  ["completed", t("common.status_completed")],
  ["failed", t("common.status_failed")],
  ["timed_out", t("common.status_timed_out")],
  ["escalated", t("common.status_escalated")],
  ["stopped", t("common.status_stopped")],
  ["interrupted", t("common.status_interrupted")],
])

/** The outcome of a session; its status while it runs or if the outcome is unknown. @param {Session} session */
export function statusWords(session) {
  return session.stopping && session.status === "running"
    ? t("common.status_stopping")
    : session.outcome || (STATUS.get(session.status) ?? session.status)
}

/** The kind of `statusWords`, which selects the icon and the color. @param {Session} session */
export function statusKind({ outcome_state: state, status }) {
  return state || status
}

const TIERS = [t("common.manual"), t("common.tier_1"), t("common.tier_2"), t("common.tier_3")]

/** @param {string} trigger */
export const triggerWords = (trigger) => trigger.replaceAll("_", " ")

/** @param {number} tier */
export function tierWords(tier) {
  return TIERS[tier] ?? t("common.tier_n", { n: tier })
}

const CAUSES = new Map([
  ["learned", t("common.cause_new")],
  ["created", t("common.cause_new")],
  ["reinforced", t("common.cause_reinforced")],
  ["edited", t("common.cause_edited")],
  ["review", t("common.cause_review")],
  ["undone", t("common.cause_undone")],
])

/** The change to a memory, in a word. @param {string} cause @param {number} [times] */
export function causeWords(cause, times = 1) {
  const word = CAUSES.get(cause) ?? cause.replaceAll("_", " ")
  return times > 1 ? t("common.cause_times", { word, n: times }) : word
}

/** A confidence and its previous value. @param {number | null} before @param {number | null} after */
export function movedWords(before, after) {
  if (after === null) return ""
  return before === null || before === after ? confidence(after) : `${confidence(before)} → ${confidence(after)}`
}
