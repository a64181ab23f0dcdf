import { duration, momentOf, timeAgo } from "../../shared/format/format.js"
import { t } from "../../shared/texts/index.js"
import { attempt } from "../../shared/directives/attempt.js"

/** @param {(name: string) => any} store */
export function overviewPage(store) {
  const overview = store("overview")
  return {
    runNow: () => store("runNow").show(),

    /** @param {Waiting} person */
    runFor: ({ service }) => store("runNow").show({ services: [service] }),

    /** @param {Waiting} person */
    settle: (person) => attempt(store, () => overview.settle(person)),

    running: () => overview.state?.running ?? null,

    /** The last sessions that acted, or wanted to. */
    outcomes: () => overview.state?.outcomes ?? [],
    incidents: () => overview.state?.incidents ?? [],

    runningWords: () =>
      t("overview.running", { id: String(overview.state.running.id), tier: overview.state.running.tier }),

    askedWords() {
      const [first] = store("approvals").open
      return overview.openApprovals === 1 && first
        ? t("overview.approve", { wish: store("approvals").wish(first) })
        : t("overview.approvals", { n: overview.openApprovals })
    },

    /** How long there is for the first of them. */
    askedLeft() {
      const [first] = store("approvals").open
      const left = first ? Date.parse(first.expires_at) - store("clock").second : 0
      return left > 0 ? t("overview.approvalLeft", { time: duration(Math.ceil(left / 1_000) * 1_000) }) : ""
    },

    casesWords: () => t("overview.reviews", { n: overview.cases }),

    casesSince() {
      const at = overview.state?.reviews.oldest_at
      return at ? t("overview.oldestReview", { when: timeAgo(at, store("clock").now) }) : ""
    },

    queued() {
      const n = overview.state?.queued ?? 0
      return n ? t("overview.requests", { n }) : ""
    },

    /** @param {Waiting} person */
    runLabel: ({ service }) => t("overview.runFor", { name: service }),

    /** @param {Waiting} person */
    settleLabel: ({ service }) => t("overview.handle", { name: service }),

    learnedTitle: () => t(overview.since === null ? "overview.recentlyLearned" : "overview.learnedSince"),

    nothingLearned: () => t(overview.since === null ? "overview.nothingRecent" : "overview.nothingSince"),

    /** @param {any} group */
    all: (group) => attempt(store, () => overview.showAll(group)),

    further: () => attempt(store, () => overview.further()),

    /** Is it no longer told to sessions? @param {Learned} each */
    fellOut: ({ memory }) => (memory.active ? "" : t("overview.notIncluded")),

    /** That failures start nothing now, and until when. @param {Service} service */
    silenceWords({ silence }) {
      if (!silence) return ""
      const key = silence.kind === "pause" ? "paused" : "maintenance"
      if (!silence.until) return t(`overview.${key}`)
      return t(`overview.${key}Until`, { when: momentOf(Date.parse(silence.until)) })
    },

    /** @param {Service} service */
    silenceReason: ({ silence }) => silence?.reason ?? "",

    /** @param {Service} service */
    memoriesWords: ({ memories }) => t("overview.memories", { n: memories }),

    /** @param {Service} service */
    ofService: ({ name }) => t("overview.ofService", { name }),

    /** @param {Service} service */
    about: ({ description, depends_on: needs }) =>
      [description, needs.length ? t("overview.dependsOn", { names: needs.join(", ") }) : ""]
        .filter(Boolean)
        .join(" · "),

    /** The cooldowns that matter: of what may be done here, and what was done all the same. @param {Service} service */
    slots: ({ cooldowns, actions }) =>
      cooldowns.filter(({ action, used }) => used > 0 || actions.some(({ kind }) => kind === action)),

    /** @param {Cooldown} slot @param {Service} service */
    slotAddress: ({ action }, { name }) => `/cooldowns?service=${encodeURIComponent(name)}&action=${action}`,

    /** @param {Service} service */
    auditAddress: ({ name }) => `/audit?topic=${encodeURIComponent(name)}`,

    /** @param {string} page @param {Service} service */
    address: (page, { name }) => `/${page}?service=${encodeURIComponent(name)}`,
  }
}
