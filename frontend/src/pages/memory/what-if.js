import { t } from "../../shared/texts/index.js"

/**
 * The next prompt without a memory or with another budget.
 * @param {{api: Api, later?: (run: () => void, ms: number) => any}} dependencies
 */
export function whatIf({ api, later = setTimeout }) {
  let lastRequestId = 0
  return {
    id: /** @type {number | null} */ (null),
    phase: "closed",
    problem: "",
    without: true,
    budget: 2_000,
    usual: 2_000,
    diff: { removed: /** @type {string[]} */ ([]), added: /** @type {string[]} */ ([]) },
    text: "",
    words: "",

    /** @param {Memory} memory */
    async show({ id }) {
      Object.assign(this, { id, phase: "loading", problem: "", without: true })
      const defaults = await this.ask({ tier: 1, sections: "operational" }).catch(() => null)
      if (defaults) this.budget = this.usual = defaults.budget
      await this.load()
    },

    hide() {
      this.id = null
      this.phase = "closed"
    },

    /** While a slider moves, only the last position counts. */
    move() {
      const requestId = ++lastRequestId
      later(() => requestId === lastRequestId && this.load(), 150)
    },

    async load() {
      const requestId = ++lastRequestId
      const { id } = this
      try {
        const variant = await this.ask({
          tier: 1,
          sections: "operational",
          budget: this.budget,
          exclude: this.without ? id : "",
          compare_to: "now",
        })
        if (requestId === lastRequestId && this.id === id) this.take(variant)
      } catch (problem) {
        if (requestId === lastRequestId && this.id === id) this.fail(/** @type {Error} */ (problem))
      }
    },

    /** @param {Record<string, any>} query */
    ask(query) {
      return api.get("/context", query)
    },

    /** @param {any} variant */
    take({ diff, text, tokens, budget, included, excluded }) {
      this.diff = diff
      this.text = text
      const total = included.length + excluded.length
      this.words = t("memory.what_if", { included: included.length, all: total, tokens, budget })
      this.phase = "ready"
      this.problem = ""
    },

    /** @param {Error} problem */
    fail(problem) {
      this.phase = "failed"
      this.problem = problem.message
    },

    /** Removed and added lines, compared with the current prompt. */
    get lines() {
      const linesOf = (/** @type {"gone" | "new"} */ kind, /** @type {string[]} */ texts) =>
        texts.map((text, at) => ({ key: `${kind}${at}`, part: [{ kind, text }] }))
      return [...linesOf("gone", this.diff.removed), ...linesOf("new", this.diff.added)]
    },
  }
}
