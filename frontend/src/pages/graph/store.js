import { throttle } from "../../shared/browser/throttle.js"
import { t } from "../../shared/texts/index.js"

/**
 * Entities of the knowledge graph, and one of them with its relationships and evidence.
 * @param {{api: Api, confirm: any, router: any, toasts: any, journal: any, later?: any, now?: () => number}} with_
 */
export function graph({ api, confirm, router, toasts, journal, later, now = Date.now }) {
  let turn = 0
  let choice = 0
  let search = 0
  /** @type {() => void} */
  let again = () => {}
  return {
    items: /** @type {Entity[]} */ ([]),
    next: /** @type {string | null} */ (null),
    total: 0,
    q: "",
    phase: "loading",
    problem: "",
    here: false,
    id: /** @type {number | null} */ (null),
    chosen: /** @type {EntityCase | null} */ (null),
    chosenProblem: "",
    rationale: "",
    merging: false,
    targets: /** @type {Entity[]} */ ([]),
    busy: false,

    /** @param {URLSearchParams} _params @param {number | null} id */
    visit(_params, id) {
      if (!this.here) {
        this.here = true
        again = throttle(() => this.here && this.reload(), { later, now })
        this.load()
      }
      if (id !== this.id) Object.assign(this, { id, chosen: null, rationale: "", chosenProblem: "", merging: false })
      return this.choose()
    },

    exit() {
      this.here = false
    },

    /** An entity, a relationship or a memory changed. */
    follow() {
      if (this.here) again()
    },

    reload() {
      return Promise.all([this.load(), this.choose()])
    },

    /** @param {string} q */
    filter(q) {
      this.q = q.trim()
      return this.load()
    },

    async load() {
      const mine = ++turn
      try {
        const page = await api.get("/entities", { q: this.q, limit: 50 })
        if (mine !== turn) return
        Object.assign(this, { items: page.items, next: page.next, total: page.total, phase: "ready", problem: "" })
      } catch (problem) {
        if (mine !== turn) return
        this.problem = /** @type {Error} */ (problem).message
        if (!this.items.length) this.phase = "failed"
      }
    },

    async more() {
      const mine = turn
      try {
        const page = await api.get("/entities", { q: this.q, limit: 50, cursor: this.next })
        if (mine === turn) Object.assign(this, { items: [...this.items, ...page.items], next: page.next })
      } catch (problem) {
        this.problem = /** @type {Error} */ (problem).message
      }
    },

    async choose() {
      const mine = ++choice
      const { id } = this
      if (id === null) return
      try {
        const chosen = await api.get(`/entities/${id}`)
        const rationale = chosen.kind === "decision" ? await rationaleOf(chosen) : ""
        if (mine === choice) Object.assign(this, { chosen, rationale, chosenProblem: "" })
      } catch (problem) {
        if (mine === choice)
          Object.assign(this, { chosen: null, chosenProblem: /** @type {Error} */ (problem).message })
      }
    },

    get groups() {
      return this.chosen ? grouped(this.chosen) : []
    },

    startMerge() {
      this.merging = true
      return this.findTargets("")
    },

    stopMerge() {
      this.merging = false
    },

    /** Entities of the same kind and project, by name. @param {string} q */
    async findTargets(q) {
      const mine = ++search
      const { chosen } = this
      if (!chosen) return
      try {
        const page = await api.get("/entities", { q, kind: chosen.kind, project: chosen.project, limit: 10 })
        if (mine === search) this.targets = page.items.filter((/** @type {Entity} */ { id }) => id !== chosen.id)
      } catch (problem) {
        toasts.show(/** @type {Error} */ (problem).message, { bad: true })
      }
    },

    /** @param {Entity} into */
    async mergeInto(into) {
      const { chosen } = this
      if (!chosen || this.busy) return
      const words = { name: chosen.name, into: into.name }
      const yes = await confirm.ask({
        title: t("graph.askMerge", words),
        text: t("graph.askNames", { into: into.name, names: chosen.names.join(", ") }),
        note: t("graph.askNote", { into: into.name }),
        verb: t("graph.merge"),
      })
      if (!yes) return
      this.busy = true
      try {
        await api.post(`/entities/${chosen.id}/merge`, { into: into.id }, `${chosen.id}-${chosen.version}`)
        toasts.show(t("graph.merged", words), { undo: journal.undoing() })
        this.q = ""
        router.go(`/graph/${into.id}`)
        await this.load()
      } catch (problem) {
        toasts.show(t("graph.notMerged", { why: /** @type {Error} */ (problem).message }), { bad: true })
      } finally {
        this.busy = false
      }
    },
  }

  /** @param {EntityCase} chosen */
  async function rationaleOf({ id, name, project }) {
    const { decisions } = await api.get("/why", { q: name.slice(0, 500), project })
    const found = decisions.find((/** @type {any} */ { decision }) => decision.id === id)
    return found?.rationale ?? ""
  }
}

/** Relationships by their type and direction. @param {EntityCase} chosen */
function grouped({ id, neighbors }) {
  /** @type {Map<string, Neighbor[]>} */
  const groups = new Map()
  for (const each of neighbors) {
    const kind = each.relationship.kind.replaceAll("_", " ").toLowerCase()
    const title = t(each.relationship.source_id === id ? "graph.to" : "graph.by", { kind })
    groups.set(title, [...(groups.get(title) ?? []), each])
  }
  return [...groups].map(([title, items]) => ({ title, items }))
}
