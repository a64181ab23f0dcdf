import { timeAgo } from "../../shared/format/format.js"
import { t } from "../../shared/texts/index.js"

const SWITCHES = /** @type {const} */ (["auto_save", "auto_search", "auto_summarize"])

/**
 * The agents that store their knowledge here: those declared in the settings, and those that connected by themselves.
 * @param {{api: Api, clock: {now: number}}} dependencies
 */
export function agents({ api, clock }) {
  return {
    phase: "loading",
    problem: "",
    items: /** @type {AgentState[]} */ ([]),

    async load() {
      try {
        this.items = (await api.all("/agents")).items
        this.phase = "ready"
        this.problem = ""
      } catch (problem) {
        this.problem = /** @type {Error} */ (problem).message
        this.phase = this.items.length ? this.phase : "failed"
      }
    },

    get names() {
      return this.items.map(({ name }) => name)
    },

    /** The permissions of an agent, and the features of its context. @param {AgentState} agent */
    switches(agent) {
      const switches = SWITCHES.map((name) => ({ key: name, on: agent[name], words: t(`settings.${name}`) }))
      const rules = [
        agent.save_rules ? t("settings.saveRules", { n: agent.save_rules }) : "",
        agent.inject_rules ? t("settings.injectRules", { n: agent.inject_rules }) : "",
      ].filter(Boolean)
      return [
        ...switches,
        { key: "limit", on: agent.context_limit > 0, words: t("settings.promptLimit", { n: agent.context_limit }) },
        ...rules.map((rule) => ({ key: rule, on: true, words: rule })),
      ]
    },

    /** @param {{on: boolean, words: string}} one */
    switchWords: ({ on, words }) => (on ? words : t("settings.not", { what: words })),

    /** @param {AgentState} agent */
    did({ sessions, running, saved, last_seen_at: lastSeen }) {
      if (!lastSeen) return t("settings.neverConnected")
      return [
        t("settings.agentSessions", { n: sessions }),
        running ? t("settings.agentRunning", { n: running }) : "",
        t("settings.agentSaved", { n: saved }),
        t("settings.agentSeen", { when: timeAgo(lastSeen, clock.now) }),
      ]
        .filter(Boolean)
        .join(" · ")
    },
  }
}
