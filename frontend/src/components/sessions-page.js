import { exact, statusWords, tierWords } from "../format.js"
import { dollars, ofModel } from "../spending.js"
import { t } from "../texts.js"
import { attempt } from "./attempt.js"
import { onControl, revealIn } from "./rows.js"

/** @param {(name: string) => any} store */
export function sessionsPage(store) {
  const [sessions, requests, router] = ["sessions", "requests", "router"].map(store)
  return {
    reveal: () => revealIn(sessions),

    /** @param {Session} row */
    rowClass: (row) => ({ "is-fresh": sessions.fresh[row.id], "is-running": row.status === "running" }),

    /** @param {Session} row @param {Event} click */
    openRow(row, click) {
      if (!onControl(click)) router.go(`/sessions/${row.id}`)
    },

    /** @param {RunRequest} request */
    cancel: (request) => attempt(store, () => requests.cancel(request.id)),

    sinceWords: () => t("sessions.since", { when: exact(sessions.filters.from) }),

    group: () => sessions.filter({ group: sessions.grouped ? "" : "chain" }),

    /** @param {Session} row @param {Session[]} chain */
    tierOf: (row, chain) =>
      sessions.grouped && chain.length > 1
        ? t("sessions.tiers", { from: chain[0].tier, to: chain[chain.length - 1].tier })
        : tierWords(row.tier),

    /** @param {Session} each @param {Session} row */
    isThis: (each, row) => (!sessions.grouped && each.id === row.id ? "true" : null),

    /** @param {Session} each */
    chipWords: (each) => t("sessions.chip", { tier: tierWords(each.tier), status: statusWords(each) }),

    /** @param {Session} row @param {number} lost */
    noDelta: ({ learned, reinforced }, lost) => learned + reinforced + lost === 0,

    /** @param {Session} row @param {number} lost */
    deltaWords: ({ learned, reinforced }, lost) => t("sessions.delta", { learned, reinforced, lost }),

    /** @param {Session} row */
    costOf(row) {
      if (row.cost_usd === null) return ofModel(row) ? t("sessions.costUnknown") : ""
      return row.cost_usd || ofModel(row) ? dollars(row.cost_usd) : ""
    },

    /** @param {Session} row */
    engineOf: ({ engine, model }) => (model ? t("sessions.engine", { engine, model }) : engine),

    /** @param {Session} row */
    turnsOf: ({ turns }) => (turns ? t("sessions.turns", { n: turns }) : ""),
  }
}
