import { exact, serviceNames, statusWords, tierWords } from "../../shared/format/format.js"
import { dollars, ofModel } from "../../shared/format/spending.js"
import { t } from "../../shared/texts/index.js"
import { attempt } from "../../shared/directives/attempt.js"
import { onControl, revealIn } from "../../shared/directives/rows.js"

const LONGEST = 160

/** Whether it is a client session, which is neither started nor stopped here. @param {Session} row */
export function ofClient({ trigger }) {
  return trigger === "client"
}

/** The agent and the project of a client session. @param {Session} row */
export function clientWords({ agent, project }) {
  return agent ? t("sessions.ofAgent", { agent, project }) : t("sessions.ofProject", { project })
}

/** @param {string} text */
function shortened(text) {
  const letters = [...text]
  return letters.length > LONGEST ? `${letters.slice(0, LONGEST).join("")}…` : text
}

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
    tierOf(row, chain) {
      if (ofClient(row)) return t("sessions.noTier")
      return sessions.grouped && chain.length > 1
        ? t("sessions.tiers", { from: chain[0].tier, to: chain[chain.length - 1].tier })
        : t("common.tier_n", { n: row.tier })
    },

    /** The services of a session, or the agent and project of a client session. @param {Session} row */
    aboutOf: (row) => (ofClient(row) ? clientWords(row) : serviceNames(row.services)),

    /** The summary of a client session. @param {Session} row */
    summaryOf: (row) => (ofClient(row) ? shortened(row.summary) : ""),

    /** @param {Session} session @param {Session} row */
    isThis: (session, row) => (!sessions.grouped && session.id === row.id ? "true" : null),

    /** @param {Session} session */
    chipWords: (session) => t("sessions.chip", { tier: tierWords(session.tier), status: statusWords(session) }),

    /** @param {Session} row @param {number} lost */
    noDelta: ({ learned, reinforced }, lost) => learned + reinforced + lost === 0,

    /** @param {Session} row @param {number} lost */
    deltaWords: ({ learned, reinforced }, lost) => t("sessions.delta", { learned, reinforced, lost }),

    /** @param {Session} row */
    costOf(row) {
      if (ofClient(row)) return ""
      if (row.cost_usd === null) return ofModel(row) ? t("sessions.costUnknown") : ""
      return row.cost_usd || ofModel(row) ? dollars(row.cost_usd) : ""
    },

    /** @param {Session} row */
    engineOf: ({ engine, model, trigger }) =>
      engine === trigger ? "" : model ? t("sessions.engine", { engine, model }) : engine,

    /** @param {Session} row */
    turnsOf: ({ turns }) => (turns ? t("sessions.turns", { n: turns }) : ""),
  }
}
