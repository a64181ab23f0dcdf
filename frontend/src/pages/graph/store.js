import { extend } from "../../shared/stores/list.js"
import { pagedList } from "../../shared/stores/paged-list.js"
import { t } from "../../shared/texts/index.js"

const MOST_DRAWN = 150

/** @typedef {{center: number, nodes: (Entity & {depth: number})[], edges: Relationship[], more: boolean}} Neighborhood */
/** @typedef {{relationship: Relationship, source: Entity, target: Entity}} Edge */

/**
 * Entities of the knowledge graph, and one of them with its neighborhood and evidence.
 * @param {{api: Api, confirm: any, router: any, toasts: any, journal: any, drawn?: boolean, later?: any, now?: () => number}} dependencies
 *   `drawn`: the neighborhood is drawn unless the operator hides the drawing
 */
export function graph({ api, confirm, router, toasts, journal, drawn = true, later, now }) {
  let lastChoiceId = 0
  let search = 0
  let lastProofId = 0
  return extend(pagedList({ api, path: "/entities", later, now }), {
    id: /** @type {number | null} */ (null),
    /** Another entity is being loaded; the previous one stays visible. */
    reading: false,
    chosen: /** @type {EntityCase | null} */ (null),
    around: /** @type {Neighborhood | null} */ (null),
    /** The radius of the neighborhood, in steps from the entity. */
    depth: 1,
    drawn,
    edge: /** @type {(Edge & {evidence: Memory[] | null}) | null} */ (null),
    chosenProblem: "",
    rationale: "",
    merging: false,
    targets: /** @type {Entity[]} */ ([]),
    busy: false,

    /** @param {URLSearchParams} _params @param {number | null} id */
    visit(_params, id) {
      if (!this.here) this.enter(() => this.reload())
      if (id !== this.id) {
        Object.assign(this, { id, edge: null, chosenProblem: "", merging: false })
        if (id === null) Object.assign(this, { chosen: null, around: null, rationale: "" })
      }
      return this.choose()
    },

    reload() {
      return Promise.all([this.load(), this.choose()])
    },

    async choose() {
      const requestId = ++lastChoiceId
      const { id, depth } = this
      if (id === null) return
      this.reading = true
      try {
        const [chosen, around] = await Promise.all([
          api.get(`/entities/${id}`),
          api.get("/graph", { center: id, depth, limit: MOST_DRAWN }),
        ])
        const rationale = chosen.kind === "decision" ? await rationaleOf(chosen) : ""
        if (requestId === lastChoiceId) Object.assign(this, { chosen, around, rationale, chosenProblem: "" })
      } catch (problem) {
        if (requestId === lastChoiceId)
          Object.assign(this, { chosen: null, around: null, chosenProblem: /** @type {Error} */ (problem).message })
      } finally {
        if (requestId === lastChoiceId) this.reading = false
      }
    },

    get groups() {
      return this.chosen ? grouped(this.chosen) : []
    },

    /** Relationships between neighbors, which the drawing shows in addition to those of the entity itself. */
    get further() {
      const { around, id } = this
      if (!around) return []
      return around.edges
        .filter((/** @type {Relationship} */ edge) => edge.source_id !== id && edge.target_id !== id)
        .flatMap((/** @type {Relationship} */ edge) => this.ends(edge) ?? [])
    },

    /** @param {Relationship} relationship @returns {Edge | null} */
    ends(relationship) {
      const nodeOf = (/** @type {number} */ id) => this.around?.nodes.find((node) => node.id === id)
      const [source, target] = [nodeOf(relationship.source_id), nodeOf(relationship.target_id)]
      return source && target ? { relationship, source, target } : null
    },

    /** @param {number} depth */
    reach(depth) {
      this.depth = depth
      return this.choose()
    },

    draw() {
      this.drawn = !this.drawn
    },

    /** The code of the drawing failed to load; the list has the same content. */
    notDrawn() {
      this.drawn = false
      toasts.show(t("graph.notDrawn"), { bad: true })
    },

    /** @param {number} id */
    open(id) {
      router.go(`/graph/${id}`)
    },

    /** Show the memories that are evidence for a relationship in the drawing. @param {number} id */
    async showEdge(id) {
      const requestId = ++lastProofId
      const relationship = this.around?.edges.find((edge) => edge.id === id)
      const edge = relationship && this.ends(relationship)
      if (!edge) return
      this.edge = { ...edge, evidence: null }
      try {
        const { neighbors } = await api.get(`/entities/${edge.source.id}`)
        const neighbor = neighbors.find((/** @type {Neighbor} */ candidate) => candidate.relationship.id === id)
        if (requestId === lastProofId) this.edge = { ...edge, evidence: neighbor?.evidence ?? [] }
      } catch (problem) {
        if (requestId !== lastProofId) return
        this.edge = null
        toasts.show(t("graph.noEvidence", { why: /** @type {Error} */ (problem).message }), { bad: true })
      }
    },

    hideEdge() {
      lastProofId++
      this.edge = null
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
      const requestId = ++search
      const { chosen } = this
      if (!chosen) return
      try {
        const page = await api.get("/entities", { q, kind: chosen.kind, project: chosen.project, limit: 10 })
        if (requestId === search) this.targets = page.items.filter((/** @type {Entity} */ { id }) => id !== chosen.id)
      } catch (problem) {
        toasts.show(/** @type {Error} */ (problem).message, { bad: true })
      }
    },

    /** @param {Entity} target */
    async mergeInto(target) {
      if (this.chosen) await this.merge(this.chosen, target)
    },

    /**
     * An entity in the drawing was dropped on another.
     * @param {number} id
     * @param {number} targetId
     * @returns {Promise<boolean>}
     */
    async drop(id, targetId) {
      const [source, targetNode] = [id, targetId].map((nodeId) => this.around?.nodes.find((node) => node.id === nodeId))
      if (!source || !targetNode) return false
      if (source.kind === targetNode.kind && source.project === targetNode.project)
        return this.merge(source, targetNode)
      toasts.show(t("graph.cannotMerge", { name: source.name, into: targetNode.name }), { bad: true })
      return false
    },

    /**
     * Merge two entities after a confirmation.
     * @param {Entity} source
     * @param {Entity} target
     * @returns {Promise<boolean>}
     */
    async merge(source, target) {
      if (this.busy) return false
      this.busy = true
      const values = { name: source.name, into: target.name }
      try {
        const { names } = this.chosen?.id === source.id ? this.chosen : await api.get(`/entities/${source.id}`)
        const confirmed = await confirm.ask({
          title: t("graph.askMerge", values),
          text: t("graph.askNames", { into: target.name, names: names.join(", ") }),
          note: t("graph.askNote", { into: target.name }),
          verb: t("graph.merge"),
        })
        if (!confirmed) return false
        await api.post(`/entities/${source.id}/merge`, { into: target.id }, `${source.id}-${source.version}`)
        toasts.show(t("graph.merged", values), { undo: journal.undoing() })
        this.q = ""
        if (this.id === source.id) router.go(`/graph/${target.id}`)
        await this.reload()
        return true
      } catch (problem) {
        toasts.show(t("graph.notMerged", { why: /** @type {Error} */ (problem).message }), { bad: true })
        return false
      } finally {
        this.busy = false
      }
    },

    /** Undo a merge; the undo of that act merges again. @param {Entity} entity */
    async unmerge(entity) {
      if (this.busy) return
      this.busy = true
      try {
        await api.remove(`/entities/${entity.id}/merge`, `${entity.id}-${entity.version}`)
        toasts.show(t("graph.unmerged", { name: entity.name }), { undo: journal.undoing() })
        await this.reload()
      } catch (problem) {
        toasts.show(t("graph.notUnmerged", { why: /** @type {Error} */ (problem).message }), { bad: true })
      } finally {
        this.busy = false
      }
    },
  })

  /** @param {EntityCase} chosen */
  async function rationaleOf({ id, name, project }) {
    const { decisions } = await api.get("/why", { q: name.slice(0, 500), project })
    const match = decisions.find((/** @type {any} */ { decision }) => decision.id === id)
    return match?.rationale ?? ""
  }
}

/** Relationships grouped by type and direction. @param {EntityCase} chosen */
function grouped({ id, neighbors }) {
  /** @type {Map<string, Neighbor[]>} */
  const groups = new Map()
  for (const neighbor of neighbors) {
    const kind = kindWords(neighbor.relationship)
    const title = t(neighbor.relationship.source_id === id ? "graph.to" : "graph.by", { kind })
    groups.set(title, [...(groups.get(title) ?? []), neighbor])
  }
  return [...groups].map(([title, items]) => ({ title, items }))
}

/** @param {Relationship} relationship */
export function kindWords({ kind }) {
  return kind.replaceAll("_", " ").toLowerCase()
}
