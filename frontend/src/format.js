const MINUTE = 60
const HOUR = 3_600
const DAY = 86_400
const DAY_MS = DAY * 1_000

export const THRESHOLD = 0.3
const OPERATIONAL = ["timing", "dependency", "behavior", "remediation", "maintenance"]
const GRACE_DAYS = 30
const WEEKLY_DECAY = 0.1

const exactly = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  year: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  timeZoneName: "short",
})
const clockTime = new Intl.DateTimeFormat("en-GB", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  timeZoneName: "short",
})
const dayOfYear = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" })
const dayAndYear = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" })

/** How long ago, as people scan it: now, 40 s, 2 min, 3 h, 9 d, then the day. @param {Time | null} time @param {number} now */
export function ago(time, now) {
  if (!time) return ""
  const seconds = Math.max(0, Math.round((now - Date.parse(time)) / 1_000))
  if (seconds < 10) return "now"
  if (seconds >= 60 * DAY) return onDay(new Date(time), now)
  return span(seconds)
}

/** How long ago, in the middle of a sentence. @param {Time} time @param {number} now */
export function past(time, now) {
  const words = ago(time, now)
  if (words === "now") return "just now"
  return now - Date.parse(time) >= 60 * DAY_MS ? `on ${words}` : `${words} ago`
}

/** The largest unit alone. @param {number} seconds */
export function span(seconds) {
  if (seconds < MINUTE) return `${seconds} s`
  if (seconds < HOUR) return `${Math.floor(seconds / MINUTE)} min`
  if (seconds < DAY) return `${Math.floor(seconds / HOUR)} h`
  return `${Math.floor(seconds / DAY)} d`
}

/** @param {Time | null} time */
export function exact(time) {
  return time ? exactly.format(new Date(time)) : ""
}

/** @param {Date | null} time */
export function atClock(time) {
  return time ? clockTime.format(time) : ""
}

/** @param {Date} time @param {number} now */
export function onDay(time, now) {
  return (time.getFullYear() === new Date(now).getFullYear() ? dayOfYear : dayAndYear).format(time)
}

/** How long something took: 0.4 s, 12 s, 3 min 20 s, 2 h 5 min. @param {number | null} milliseconds */
export function duration(milliseconds) {
  if (milliseconds === null || milliseconds < 0) return ""
  if (milliseconds < 9_950) return `${(milliseconds / 1_000).toFixed(1)} s`
  const seconds = Math.round(milliseconds / 1_000)
  if (seconds < MINUTE) return `${seconds} s`
  if (seconds < HOUR) return two(Math.floor(seconds / MINUTE), "min", seconds % MINUTE, "s")
  return two(Math.floor(seconds / HOUR), "h", Math.floor((seconds % HOUR) / MINUTE), "min")
}

/** @param {number} large @param {string} unit @param {number} small @param {string} rest */
function two(large, unit, small, rest) {
  return small ? `${large} ${unit} ${small} ${rest}` : `${large} ${unit}`
}

/**
 * When a coming moment is: "in 48 min", "now"; `fine` counts down, "in 3 h 12 min", "in 4 s".
 * @param {Time} time @param {number} now @param {{fine?: boolean}} [how]
 */
export function until(time, now, { fine = false } = {}) {
  const seconds = Math.round((Date.parse(time) - now) / 1_000)
  if (seconds < (fine ? 1 : 5)) return "now"
  return `in ${fine && seconds >= MINUTE ? duration(seconds * 1_000) : span(seconds)}`
}

/** @param {number} confidence */
export function confidence(confidence) {
  return confidence.toFixed(2)
}

/** @param {number} n @param {string} one @param {string} [many] */
export function count(n, one, many = `${one}s`) {
  return `${n.toLocaleString("en")} ${n === 1 ? one : many}`
}

/** The service as people call it; what holds for every one of them is "general". @param {string | null} service */
export function serviceName(service) {
  return service ?? "general"
}

/** @param {string[] | null} services */
export function serviceNames(services) {
  return services?.length ? services.join(", ") : "all services"
}

/** @param {string} category */
export function isOperational(category) {
  return OPERATIONAL.includes(category)
}

/** The moment fading takes an operational memory below the threshold, if nothing confirms it. @param {Memory} memory @param {number} now */
export function fadesOut(memory, now) {
  if (memory.pinned || !memory.active || !isOperational(memory.category)) return null
  const start = Date.parse(memory.updated_at) + GRACE_DAYS * DAY_MS
  const taken = Math.max(0, Math.floor((now - start) / (7 * DAY_MS)))
  const left = Math.floor((memory.confidence - THRESHOLD) / WEEKLY_DECAY + 1e-9) + 1
  return new Date(start + (taken + left) * 7 * DAY_MS)
}

/** What will become of a memory, in one sentence. @param {Memory} memory @param {number} now */
export function outlook(memory, now) {
  if (!memory.active) return inactiveWords(memory)
  if (memory.pinned) return "Pinned: it does not fade."
  const day = fadesOut(memory, now)
  return day ? `Below 0.30 on ${onDay(day, now)} unless it is seen again.` : "Knowledge does not fade."
}

/** @param {Memory} memory */
function inactiveWords({ inactive_reason: reason, confidence }) {
  if (confidence < THRESHOLD)
    return "Inactive: no session reads it. Set its confidence to 0.30 or more to bring it back."
  const why = reason === "operator" ? "set so by a person" : (reason ?? "")
  return why ? `Inactive, ${why}: no session reads it.` : "Inactive: no session reads it."
}

const REASONS = new Map([
  ["low", "inactive: below 0.30"],
  ["operator", "inactive: set by a person"],
  ["superseded", "inactive: superseded"],
  ["archived", "inactive: archived"],
  ["expired", "inactive: expired"],
  ["deleted", "inactive: deleted"],
])

/** @param {Memory} memory */
export function stateWords(memory) {
  return memory.active ? "active" : (REASONS.get(memory.inactive_reason ?? "") ?? "inactive")
}

const STATUS = new Map([
  ["timed_out", "timed out"],
  ["running", "running"],
])

/** @param {Session} session */
export function statusWords(session) {
  return session.stopping && session.status === "running" ? "stopping" : (STATUS.get(session.status) ?? session.status)
}

const TIERS = ["manual", "observe", "investigate", "remediate"]

/** @param {number} tier */
export function tierWords(tier) {
  return tier ? `tier ${tier}, ${TIERS[tier] ?? ""}` : "manual"
}

const CAUSES = new Map([
  ["learned", "new"],
  ["created", "new"],
  ["reinforced", "seen again"],
  ["edited", "edited by hand"],
  ["review", "settled in a review"],
  ["undone", "taken back"],
])

/** What happened to a memory, in a word. @param {string} cause @param {number} [times] */
export function causeWords(cause, times = 1) {
  const word = CAUSES.get(cause) ?? cause.replaceAll("_", " ")
  return times > 1 ? `${word} ${times} times` : word
}

/** A confidence and what it was before. @param {number | null} before @param {number | null} after */
export function movedWords(before, after) {
  if (after === null) return ""
  return before === null || before === after ? confidence(after) : `${confidence(before)} → ${confidence(after)}`
}
