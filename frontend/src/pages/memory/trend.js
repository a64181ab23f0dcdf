import { THRESHOLD, WEEKLY_DECAY } from "../../../generated/values.js"
import { causeWords, confidence, fadesOut, onDay, weeksLeft } from "../../shared/format/format.js"
import { t } from "../../shared/texts/index.js"

const WEEK_MS = 7 * 86_400_000
/** As tall as its element; the text beside the floor depends on this height. */
const HEIGHT = 88
const HOUR_MS = 3_600_000
const ROLES = new Map([
  ["reinforced", "good"],
  ["contradicted", "bad"],
  ["edited", "ink"],
  ["created", "ink"],
  ["learned", "ink"],
  ["review", "ink"],
  ["undone", "ink"],
])

/** @typedef {{at: number, value: number, cause: string}} Point */

/**
 * The confidence over time as steps, with a dotted forecast of its decay.
 * @param {Memory} memory @param {HistoryEntry[]} history newest first @param {number} now
 * @returns {import("../../charts/plot.js").Spec}
 */
export function trend(memory, history, now) {
  const points = pointsOf(memory, history, now)
  const forecast = fading(memory, now)
  const values = [...points.map(({ value }) => value), memory.confidence]
  const blanks = (/** @type {unknown[]} */ list) => list.map(() => null)
  return {
    x: [...points.map(({ at }) => at), now, ...forecast.map(({ at }) => at)].map((at) => at / 1_000),
    series: [
      { kind: "steps", role: "flame", values: [...values, ...blanks(forecast)] },
      {
        kind: "steps",
        role: "flame",
        dash: true,
        values: [...blanks(points), memory.confidence, ...forecast.map(({ value }) => value)],
      },
    ],
    bare: true,
    height: HEIGHT,
    y: { min: 0, max: 1, floor: THRESHOLD },
    dots: points.filter(({ cause }) => ROLES.has(cause)).map(dotOf),
  }
}

/**
 * A text version of the same steps, the forecast last.
 * @param {Memory} memory
 * @param {HistoryEntry[]} history newest first
 * @param {number} now
 */
export function steps(memory, history, now) {
  const lines = pointsOf(memory, history, now)
    .filter(({ cause }) => cause !== "")
    .map(({ at, value, cause }) => ({
      at,
      text: t("memory.trend_step", {
        day: onDay(new Date(at), now),
        what: causeWords(cause),
        confidence: confidence(value),
      }),
    }))
  const end = fadesOut(memory, now)
  if (end) lines.push({ at: end.getTime(), text: t("memory.trend_next", { day: onDay(end, now) }) })
  return lines.map(({ at, text }, n) => ({ key: `${at} ${n}`, text }))
}

/**
 * Each change of the confidence, or its initial value.
 * @param {Memory} memory
 * @param {HistoryEntry[]} history
 * @param {number} now
 * @returns {Point[]}
 */
function pointsOf(memory, history, now) {
  const points = history
    .filter(({ after }) => after)
    .map(({ at, after, cause }) => ({ at: Date.parse(at), value: after?.confidence ?? 0, cause }))
    .reverse()
  if (!points.length) points.push({ at: Date.parse(memory.created_at), value: memory.confidence, cause: "" })
  let latest = Math.min(points[0].at, now - HOUR_MS)
  return points.map((point) => ({ ...point, at: (latest = Math.max(latest, Math.min(point.at, now))) }))
}

/** @param {Memory} memory @param {number} now */
function fading(memory, now) {
  const end = fadesOut(memory, now)?.getTime() ?? now
  const weeks = end > now ? weeksLeft(memory) : 0
  const forecast = Array.from({ length: weeks }, (_, n) => ({
    at: end - (weeks - n - 1) * WEEK_MS,
    value: Math.max(0, memory.confidence - WEEKLY_DECAY * (n + 1)),
  })).filter(({ at }) => at > now)
  const last = forecast.at(-1)
  return last ? [...forecast, { at: last.at + WEEK_MS, value: last.value }] : []
}

/** @param {Point} point */
function dotOf({ at, value, cause }) {
  return { x: at / 1_000, y: value, role: /** @type {import("../../charts/plot.js").Role} */ (ROLES.get(cause)) }
}
