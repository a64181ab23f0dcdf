import { t } from "../../shared/texts/index.js"

const PAGE = 20

/**
 * All memories about a topic, with the evidence of each and its effect on the next prompt.
 * @param {{api: Api, router: any, print?: () => void, painted?: () => Promise<unknown>}} dependencies
 */
export function audit({ api, router, print = () => window.print(), painted = nextFrame }) {
  let lastRequestId = 0
  return {
    topic: "",
    service: /** @type {string | null} */ (null),
    rows: /** @type {Belief[]} */ ([]),
    next: /** @type {string | null} */ (null),
    active: 0,
    inactive: 0,
    at: 0,
    phase: "idle",
    problem: "",
    busy: false,

    /** @param {URLSearchParams} params */
    visit(params) {
      const topic = (params.get("topic") ?? "").trim()
      if (topic === this.topic && this.phase === "ready") return
      Object.assign(this, { topic, rows: [], next: null, problem: "" })
      return this.load()
    },

    exit() {},

    /** @param {string} topic */
    ask(topic) {
      router.go(router.with({ topic: topic.trim() }))
    },

    async load() {
      const requestId = ++lastRequestId
      if (!this.topic) return void (this.phase = "idle")
      if (!this.rows.length) this.phase = "loading"
      try {
        const page = await this.read(null)
        if (requestId !== lastRequestId) return
        const { active, inactive } = page.states
        Object.assign(this, { rows: page.items, next: page.next, service: page.service, active, inactive })
        Object.assign(this, { phase: "ready", problem: "", at: Date.now() })
      } catch (problem) {
        if (requestId !== lastRequestId) return
        this.problem = /** @type {Error} */ (problem).message
        if (!this.rows.length) this.phase = "failed"
      }
    },

    async more() {
      const requestId = lastRequestId
      this.busy = true
      try {
        const page = await this.read(this.next)
        if (requestId === lastRequestId)
          Object.assign(this, { rows: [...this.rows, ...page.items], next: page.next, problem: "" })
        return requestId === lastRequestId
      } catch (problem) {
        this.problem = /** @type {Error} */ (problem).message
        return false
      } finally {
        this.busy = false
      }
    },

    /** Load all pages before printing, so that the printout is complete. */
    async print() {
      while (this.next !== null) if (!(await this.more())) return
      await painted()
      print()
    },

    /** @param {string | null} cursor */
    read(cursor) {
      return api.get("/audit", { topic: this.topic, prompt: true, limit: PAGE, ...(cursor ? { cursor } : {}) })
    },

    get words() {
      const { active, inactive } = this
      if (this.phase !== "ready") return ""
      return [t("audit.active", { n: active }), inactive ? t("audit.inactive", { n: inactive }) : ""]
        .filter(Boolean)
        .join(", ")
    },
  }
}

function nextFrame() {
  return new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))
}
