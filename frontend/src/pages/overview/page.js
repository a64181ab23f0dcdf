import { duration, momentOf, percentWords, timeAgo } from "../../shared/format/format.js"
import { slotWords } from "../../shared/format/status.js"
import { t } from "../../shared/texts/index.js"
import { attempt } from "../../shared/directives/attempt.js"

/** @param {(name: string) => any} store */
export function overviewPage(store) {
  const overview = store("overview")
  const sinceText = (/** @type {string | null | undefined} */ at) =>
    at ? t("overview.oldestReview", { when: timeAgo(at, store("clock").now) }) : ""
  return {
    runNow: () => store("runNow").show(),

    /** @param {Attention} person */
    runFor: ({ service }) => store("runNow").show({ services: [service] }),

    /** @param {Attention} person */
    markHandled: (person) =>
      attempt(store, async () => {
        await overview.markHandled(person)
        store("toasts").show(t("overview.handled", { name: person.service }))
      }),

    running: () => overview.state?.running ?? null,

    /** The latest sessions with actions, executed or only proposed. */
    outcomes: () => overview.state?.outcomes ?? [],
    incidentState: (/** @type {{state: string}} */ { state }) =>
      t("overview.incidentState", {
        state: state === "needs_person" ? t("overview.needsYou") : state.replaceAll("_", " "),
      }),
    repaired: () => overview.state?.repaired ?? [],

    runningWords: () =>
      t("overview.running", { id: String(overview.state.running.id), tier: overview.state.running.tier }),

    approvalText() {
      const [approval] = store("approvals").open
      return overview.openApprovals === 1 && approval
        ? t("overview.approve", { wish: store("approvals").requestedAction(approval) })
        : t("overview.approvals", { n: overview.openApprovals })
    },

    /** The time left for the first approval. */
    approvalTime() {
      const [approval] = store("approvals").open
      const leftMs = approval ? Date.parse(approval.expires_at) - store("clock").second : 0
      return leftMs > 0 ? t("overview.approvalLeft", { time: duration(Math.ceil(leftMs / 1_000) * 1_000) }) : ""
    },

    casesWords: () => t("overview.reviews", { n: overview.cases }),

    pagesWords: () => t("overview.pages", { n: overview.pages }),

    casesSince: () => sinceText(overview.state?.reviews.oldest_at),

    pagesSince: () => sinceText(overview.state?.pages.oldest_at),

    queued() {
      const n = overview.state?.queued ?? 0
      return n ? t("overview.requests", { n }) : ""
    },

    /** @param {Attention} person */
    runLabel: ({ service }) => t("overview.runFor", { name: service }),

    /** @param {Attention} person */
    handleLabel: ({ service }) => t("overview.handle", { name: service }),

    learnedTitle: () => t(overview.since === null ? "overview.recentlyLearned" : "overview.learnedSince"),

    nothingLearned: () => t(overview.since === null ? "overview.nothingRecent" : "overview.nothingSince"),

    /** @param {any} group */
    all: (group) => attempt(store, () => overview.showAll(group)),

    further: () => attempt(store, () => overview.further()),

    /** Whether the memory is no longer included in prompts. @param {Learned} each */
    notIncluded: ({ memory }) => (memory.active ? "" : t("overview.notIncluded")),

    /** A text for a silenced service: failures trigger nothing, and until when. @param {Service} service */
    silenceWords({ silence }) {
      if (!silence) return ""
      const key = silence.kind === "pause" ? "paused" : "maintenance"
      if (!silence.until) return t(`overview.${key}`)
      return t(`overview.${key}Until`, { when: momentOf(Date.parse(silence.until)) })
    },

    /** @param {Service} service */
    silenceReason: ({ silence }) => silence?.reason ?? "",

    /** The cooldowns that are partly used. @param {Service} service */
    slots: ({ cooldowns }) => cooldowns.filter(({ used }) => used > 0),
    slotWords,

    /** @param {Cooldown} slot @param {Service} service */
    slotAddress: ({ action }, { name }) => `/cooldowns?service=${encodeURIComponent(name)}&action=${action}`,

    /** The share of passed results in the last day. @param {Service} service */
    uptime: ({ name }) => percentWords(store("heartbeats").of(name)?.day ?? null),

    /** @param {Service} service */
    uptimeTitle({ name }) {
      const row = store("heartbeats").of(name)
      return t("overview.uptimes", { day: percentWords(row?.day ?? null), month: percentWords(row?.month ?? null) })
    },

    nothingFiltered: () => overview.phase === "ready" && overview.services.length > 0 && overview.groups.length === 0,
  }
}
