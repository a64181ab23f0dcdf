import { duration } from "../shared/format/format.js"
import { brief, dollars } from "../shared/format/spending.js"
import { t } from "../shared/texts/index.js"

const NOTHING = { input_tokens: 0, output_tokens: 0, cost_usd: 0 }

/**
 * One turn of a model: its duration, and the tokens and cost that it added to those of the turns before.
 * @param {LogItem} item @param {import("./lines.js").Line[]} lines all lines before it
 */
export function turnWords({ at, usage }, lines) {
  const now = /** @type {NonNullable<typeof usage>} */ (usage)
  const lastTurn = lines.findLast((line) => line.usage)
  if (!lastTurn && now.turns > 1) return t("session.turn", { n: now.turns }) // the lines before it are not loaded yet
  const previousUsage = lastTurn?.usage ?? NOTHING
  return words(now.turns, sinceLast(at, lines), {
    input_tokens: now.input_tokens - previousUsage.input_tokens,
    output_tokens: now.output_tokens - previousUsage.output_tokens,
    cost_usd: now.cost_usd === null || previousUsage.cost_usd === null ? null : now.cost_usd - previousUsage.cost_usd,
  })
}

/**
 * A block that reports the usage of its turn alone: a new turn, or an addition to the one in `turn`.
 * @param {LogItem} item @param {import("./lines.js").Line[]} lines all lines before it
 * @param {import("./lines.js").Line | undefined} turn
 */
export function blockTurn({ at, usage }, lines, turn) {
  const block = /** @type {NonNullable<typeof usage>} */ (usage)
  const held = turn?.usage
  const end = turn ? lines.lastIndexOf(turn) : lines.length
  const turns = held?.turns ?? (lines.findLast((line) => line.usage?.turn)?.usage?.turns ?? 0) + 1
  const output = block.cost_usd === null || block.input_usd === null ? null : block.cost_usd - block.input_usd
  const cost = held ? held.cost_usd : block.input_usd
  const turnUsage = {
    ...block,
    turns,
    output_tokens: (held?.output_tokens ?? 0) + block.output_tokens,
    cost_usd: cost === null || output === null ? null : cost + output,
  }
  return { usage: turnUsage, at, text: words(turns, sinceLast(at, lines, end), turnUsage, true) }
}

/**
 * The end reports the total usage of a session: scale the estimates of its turns to that total.
 * @param {NonNullable<LogItem["usage"]>} total @param {import("./lines.js").Line[]} lines
 */
export function settleTurns(total, lines) {
  const turns = [...lines.entries()].filter(([, line]) => line.usage?.turn)
  const sum = (/** @type {"output_tokens" | "cost_usd"} */ name) =>
    turns.reduce((total, [, { usage }]) => total + (usage?.[name] ?? 0), 0)
  const [output, cost] = [sum("output_tokens"), sum("cost_usd")]
  turns.forEach(([place, turn], at) => {
    const usage = /** @type {NonNullable<LogItem["usage"]>} */ (turn.usage)
    const finalUsage = {
      ...usage,
      output_tokens: output ? Math.round((usage.output_tokens * total.output_tokens) / output) : 0,
      cost_usd:
        total.cost_usd === null || usage.cost_usd === null || !cost ? null : (usage.cost_usd * total.cost_usd) / cost,
    }
    Object.assign(turn, { usage: finalUsage, text: words(at + 1, sinceLast(turn.at, lines, place), finalUsage, true) })
  })
}

/**
 * The time since the turn before, or since the first line.
 * @param {Time | null} at @param {import("./lines.js").Line[]} lines @param {number} end the number of lines before it
 */
function sinceLast(at, lines, end = lines.length) {
  let last = end - 1
  while (last >= 0 && !lines[last].usage) last--
  const first = lines.findIndex((line) => line.at)
  const startedAt = at && (last >= 0 ? lines[last].at : first >= 0 && first < end && lines[first].at)
  return startedAt ? duration(Date.parse(at) - Date.parse(startedAt)) : ""
}

/** @param {number} n @param {string} time @param {Pick<NonNullable<LogItem["usage"]>, "input_tokens" | "output_tokens" | "cost_usd">} usage */
function words(n, time, usage, estimated = false) {
  const tokens = {
    input: brief.format(Math.max(0, usage.input_tokens)),
    output: brief.format(Math.max(0, usage.output_tokens)),
  }
  return [
    t("session.turn", { n }),
    time,
    estimated ? t("session.tokensAbout", tokens) : t("session.tokens", tokens),
    usage.cost_usd === null ? "" : dollars(Math.max(0, usage.cost_usd)),
  ]
    .filter(Boolean)
    .join(" · ")
}
