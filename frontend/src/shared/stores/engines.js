import { dollars } from "../format/spending.js"
import { t } from "../texts/index.js"

/**
 * The engines that can run a session, and the limits of a session.
 * @param {{api: Api}} dependencies
 */
export function engines({ api }) {
  return {
    items: /** @type {Engine[]} */ ([]),
    maxTier: 3,
    seconds: 0,
    /** The maximum number of turns of a model session. */
    turns: 0,
    models: /** @type {Record<string, string | null>} */ ({}),
    caps: /** @type {Spending} */ ({ session: null, chain: null, day: null, day_spent: 0 }),

    async load() {
      const response = await api.get("/engines").catch(() => null)
      if (!response) return
      this.items = response.engines
      this.maxTier = response.max_tier
      this.seconds = response.session_seconds
      this.turns = response.max_turns ?? 0
      this.models = response.models ?? {}
      this.caps = response.caps ?? this.caps
    },

    /** The default engine of a tier. @param {number | string} tier */
    usual(tier) {
      return this.items.find(({ usual, tiers }) => (tiers ? tiers.includes(Number(tier)) : usual))?.name ?? ""
    },

    /** Why some engines cannot run here. */
    get problems() {
      return this.items.filter(({ problem }) => problem).map(({ name, problem }) => `${name}: ${problem}`)
    },

    /** The engine of a session of a tier, and its cost limit. @param {number | string} tier @param {string} name */
    means(tier, name) {
      const { session, day, day_spent: spent } = this.caps
      const model = ["probe", "exec"].includes(name) ? "" : this.models[String(tier)]
      if (["probe", "exec"].includes(name)) return t("sessions.noModel")
      return [
        model ? t("sessions.byModel", { model }) : t("sessions.engineModel"),
        this.turns ? t("sessions.mostTurns", { n: this.turns }) : "",
        session === null ? "" : t("sessions.mostCost", { most: dollars(session) }),
        day === null ? "" : t("sessions.dayLeft", { left: dollars(Math.max(0, day - spent)), day: dollars(day) }),
      ]
        .filter(Boolean)
        .join(" ")
    },
  }
}
