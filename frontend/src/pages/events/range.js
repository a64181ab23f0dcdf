import { t } from "../../shared/texts/index.js"

/** The predefined ranges, in minutes before now. */
export const RANGES = [
  { key: "hour", minutes: 60 },
  { key: "day", minutes: 24 * 60 },
  { key: "week", minutes: 7 * 24 * 60 },
  { key: "month", minutes: 30 * 24 * 60 },
]

/** @param {string} key @param {number} now */
export function rangeOf(key, now) {
  const range = RANGES.find((candidate) => candidate.key === key)
  return { from: range ? new Date(now - range.minutes * 60_000).toISOString() : "", to: "" }
}

const day = new Intl.DateTimeFormat("en-US", { day: "numeric", month: "short" })
const hour = new Intl.DateTimeFormat("en-US", { hour: "2-digit", minute: "2-digit", hourCycle: "h23" })
const exact = new Intl.DateTimeFormat("en-US", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
})

/** The start and end of a period, as short as possible. @param {number} start @param {number} seconds */
export function stretchWords(start, seconds) {
  const [from, to] = [new Date(start), new Date(start + seconds * 1_000)]
  if (seconds >= 172_800)
    return t("events.fromTo", { from: day.format(from), to: day.format(new Date(to.getTime() - 1)) })
  if (seconds >= 86_400) return day.format(from)
  const clock = seconds < 60 ? exact : hour
  return `${day.format(from)}, ${t("events.fromTo", { from: clock.format(from), to: clock.format(to) })}`
}
