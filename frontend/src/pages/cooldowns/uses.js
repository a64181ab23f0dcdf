import { ACTIONS } from "../../../generated/values.js"
import { t } from "../../shared/texts/index.js"
import { newestFirst } from "../events/store.js"
import { extend, liveList } from "../../shared/stores/list.js"

const OUTCOMES = new Map([
  ["reserved", t("cooldowns.use_reserved")],
  ["success", t("cooldowns.use_success")],
  ["unconfirmed", t("cooldowns.use_unconfirmed")],
  ["failure", t("cooldowns.use_failure")],
  ["abandoned", t("cooldowns.use_abandoned")],
  ["refused", t("cooldowns.use_refused")],
  ["would", t("cooldowns.use_would")],
  ["unneeded", t("cooldowns.use_unneeded")],
])

/** @param {string} outcome */
export function useWords(outcome) {
  return OUTCOMES.get(outcome) ?? outcome
}

/** Details of a use beyond its kind: the declared name, a second attempt, and the outcome. @param {Use} use */
export function useNotes({ name, action, text, attempts, healthy_after: healthyAfter, cleared_by: clearedBy }) {
  const isStated = healthyAfter === null || /^Healthy again after/.test(text ?? "")
  return [
    name && name !== action ? name : "",
    attempts > 1 ? t("cooldowns.useAttempts", { n: attempts }) : "",
    isStated ? "" : t("cooldowns.healthyAfter", { time: seconds(healthyAfter) }),
    clearedBy === "healthy"
      ? t("cooldowns.clearedByRounds")
      : clearedBy === "operator"
        ? t("cooldowns.resetByPerson")
        : "",
  ]
    .filter(Boolean)
    .join(" · ")
}

/** @param {number} value */
function seconds(value) {
  if (value < 10) return `${Number(value.toFixed(1))} s`
  return value < 120 ? `${Math.round(value)} s` : `${Math.round(value / 60)} min`
}

/** The filters of the list in the address. @param {URLSearchParams} params */
export function useFilters(params) {
  const action = params.get("action") ?? ""
  return { service: params.get("service") ?? "", action: ACTIONS.includes(action) ? action : "" }
}

/** @typedef {ReturnType<typeof useFilters>} UseFilters */

/** Whether the server would list this use under these filters. @param {Use} use @param {UseFilters} filters */
export function useMatches(use, { service, action }) {
  return (!service || use.service === service) && (!action || use.action === action)
}

/**
 * The actions executed and refused for the services, newest first.
 * @param {{api: Api, feed: Feed, router: any, later?: (run: () => void, ms: number) => any}} dependencies
 */
export function uses({ api, feed, router, later = setTimeout }) {
  let filters = useFilters(new URLSearchParams())
  const list = liveList({
    api,
    feed,
    later,
    path: "/cooldowns/uses",
    entity: "cooldown",
    query: () => ({ ...filters, limit: 50 }),
    matches: (/** @type {Use} */ use) => useMatches(use, filters),
    compare: newestFirst,
  })
  return extend(list, {
    filters,

    /** @param {URLSearchParams} params */
    visit(params) {
      filters = useFilters(params)
      const isUnchanged = this.phase === "ready" && JSON.stringify(filters) === JSON.stringify(this.filters)
      this.filters = filters
      if (!isUnchanged) this.load()
    },

    /** @param {Change} change */
    follow(change) {
      if (this.phase === "ready") this.apply(change)
    },

    get filtered() {
      return Boolean(this.filters.service || this.filters.action)
    },

    get pill() {
      return t("cooldowns.newUses", { n: this.waiting.length })
    },

    /** @param {Record<string, any>} changes */
    filter(changes) {
      router.go(router.with(changes))
    },

    clear() {
      router.go("/cooldowns")
    },
  })
}
