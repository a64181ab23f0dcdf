import { attempt } from "./attempt.js"

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

    runningWords() {
      const { id, tier } = overview.state.running
      return `Session #${id} runs now, tier ${tier}.`
    },

    casesWords() {
      const n = store("reviews").waits
      return n === 1 ? "A contradiction waits" : `${n} contradictions wait`
    },

    queued() {
      const n = overview.state?.queued ?? 0
      return n ? `${n} ${n === 1 ? "request waits" : "requests wait"}.` : ""
    },

    learnedTitle: () => (overview.since === null ? "Learned lately" : "Learned since your last visit"),

    nothingLearned: () => (overview.since === null ? "Nothing in the last day." : "Nothing since then."),

    /** @param {Service} service */
    about: ({ description, depends_on: needs }) =>
      [description, needs.length ? `depends on ${needs.join(", ")}` : ""].filter(Boolean).join(" · "),

    /** The cooldowns that matter: of what may be done here, and what was done all the same. @param {Service} service */
    slots: ({ cooldowns, actions }) =>
      cooldowns.filter(({ action, used }) => used > 0 || actions.some(({ kind }) => kind === action)),

    /** @param {Cooldown} slot @param {Service} service */
    slotAddress: ({ action }, { name }) => `/cooldowns?service=${encodeURIComponent(name)}&action=${action}`,

    /** @param {string} page @param {Service} service */
    address: (page, { name }) => `/${page}?service=${encodeURIComponent(name)}`,
  }
}
