import { t } from "../texts/index.js"

/** The usage of a model session: tokens, turns, dollars. */
export const brief = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 })
const WITHOUT_MODEL = ["probe", "exec"]

/** Whether a model ran the session: its usage is then of interest, and may be unknown. @param {Session} session */
export function ofModel({ model, engine, input_tokens: inputTokens }) {
  return !WITHOUT_MODEL.includes(engine) || model !== null || inputTokens !== null
}

/** Dollars to the cent; below a cent, with as many digits as are significant. @param {number} cost */
export function dollars(cost) {
  if (cost === 0) return "$0"
  if (cost < 0.0001) return "< $0.0001"
  return cost < 0.00995 ? `$${Number(cost.toFixed(4))}` : `$${cost.toFixed(2)}`
}

/** The cost of a session, and its limit; an unknown cost is never shown as zero. @param {Session} session */
export function costWords(session) {
  const { cost_usd: cost, budget_usd: budget } = session
  if (cost === null && !ofModel(session)) return ""
  if (cost === 0 && !ofModel(session)) return ""
  const spent = cost === null ? t("sessions.costUnknown") : dollars(cost)
  return budget === null ? spent : t("sessions.costOf", { spent, budget: dollars(budget) })
}

/** The input and output tokens. @param {Session} session */
export function tokenWords(session) {
  const {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    cache_read_tokens: cacheRead,
    cache_write_tokens: cacheWrite,
  } = session
  if (inputTokens === null) return ""
  const totalInput = inputTokens + (cacheRead ?? 0) + (cacheWrite ?? 0)
  const values = {
    input: brief.format(totalInput),
    output: brief.format(outputTokens ?? 0),
    cached: brief.format(cacheRead ?? 0),
  }
  return t(cacheRead ? "session.tokensCached" : "session.tokens", values)
}
