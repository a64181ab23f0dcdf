import { duration } from "../shared/format/format.js"
import { brief, dollars } from "../shared/format/spending.js"
import { t } from "../shared/texts/index.js"

/**
 * One turn of a model: how long it took, and the tokens and the cost that it added to those of the turns before.
 * @param {LogItem} item @param {import("./lines.js").Line[]} lines all before it
 */
export function turnWords({ at, usage }, lines) {
  const now = /** @type {NonNullable<typeof usage>} */ (usage)
  const last = lines.findLast((line) => line.usage)
  if (!last && now.turns > 1) return t("session.turn", { n: now.turns }) // what came before is not read yet
  const before = last?.usage ?? { input_tokens: 0, output_tokens: 0, cost_usd: 0 }
  const since = at && (last ? last.at : lines.find((line) => line.at)?.at)
  return [
    t("session.turn", { n: now.turns }),
    since ? duration(Date.parse(at) - Date.parse(since)) : "",
    t("session.tokens", {
      input: brief.format(Math.max(0, now.input_tokens - before.input_tokens)),
      output: brief.format(Math.max(0, now.output_tokens - before.output_tokens)),
    }),
    now.cost_usd === null || before.cost_usd === null ? "" : dollars(Math.max(0, now.cost_usd - before.cost_usd)),
  ]
    .filter(Boolean)
    .join(" · ")
}
