import { focusOn } from "../../shared/browser/focus.js"
import { confidence, exact } from "../../shared/format/format.js"
import { t } from "../../shared/texts/index.js"
import { kindWords } from "./store.js"

/** @param {(name: string) => any} store */
export function graphPage(store) {
  const [graph, live, router] = ["graph", "live", "router"].map(store)
  return {
    total: () => (graph.phase === "ready" && graph.total ? t("graph.total", { n: graph.total }) : ""),
    empty: () => graph.phase === "ready" && graph.rows.length === 0,
    chosen: () => graph.chosen ?? {},
    note() {
      if (graph.phase !== "ready") return ""
      return live.offline ? t("graph.offline") : graph.problem
    },

    /** @param {Entity} entity */
    facts: (entity) => [entity.kind, entity.project].filter(Boolean).join(", "),
    /** @param {EntityRow} row */
    rowFacts(row) {
      return [this.facts(row), row.relationships ? t("graph.relationships", { n: row.relationships }) : ""]
        .filter(Boolean)
        .join(", ")
    },
    /** @param {Entity} entity */
    address: ({ id }) => `/graph/${id}`,
    /** @param {Entity} entity */
    current: ({ id }) => (id === graph.id ? "true" : null),

    count: () => (graph.chosen ? t("graph.relationships", { n: graph.chosen.neighbors.length }) : ""),
    also() {
      const names = (graph.chosen?.names ?? []).filter((/** @type {string} */ name) => name !== graph.chosen.name)
      return names.length ? t("graph.also", { names: names.join(", ") }) : ""
    },

    /** The entities merged into this one, or the entity that this one is merged into. @returns {Entity[]} */
    merged: () => [...(graph.chosen?.merged_into ? [graph.chosen] : []), ...(graph.chosen?.merged ?? [])],
    /** @param {Entity} entity */
    unmergeName: ({ name }) => t("graph.unmergeName", { name }),
    async unmerge(/** @type {Entity} */ entity) {
      await graph.unmerge(entity)
      focusOn(".graph-case h2")
    },
    ownAddress: () => (graph.chosen?.merged_into ? `/graph/${graph.chosen.merged_into}` : null),

    /** @param {Neighbor} neighbor */
    edgeFacts({ relationship: { confidence: value, source, valid_from, valid_to }, evidence }) {
      const validity = valid_to
        ? t("graph.until", { from: exact(valid_from), to: exact(valid_to) })
        : t("graph.from", { from: exact(valid_from) })
      const evidenceText = evidence.length ? t("graph.proof", { n: evidence.length }) : t("graph.noProof")
      const author = source === "model" ? [t("graph.byModel")] : []
      return [t("graph.confidence", { n: confidence(value) }), ...author, validity, evidenceText].join(", ")
    },

    drawing: () => graph.around,
    drawingWords: () => t("graph.drawing", { name: graph.chosen?.name ?? "" }),
    drawWords: () => t(graph.drawn ? "graph.hideDrawing" : "graph.showDrawing"),
    more: () => (graph.around?.more ? t("graph.notAll", { n: graph.around.nodes.length }) : ""),
    reachesFar: () => graph.depth > 1,
    toggleReach: () => graph.reach(graph.depth > 1 ? 1 : 2),
    /** @param {import("./store.js").Edge} edge */
    edgeKind: ({ relationship }) => kindWords(relationship),
    edgeName() {
      const { edge } = graph
      return edge ? `${edge.source.name} ${kindWords(edge.relationship)} ${edge.target.name}` : ""
    },
    proof: () => graph.edge?.evidence ?? [],
    unproved: () => graph.edge?.evidence?.length === 0,
    closeProof() {
      graph.hideEdge()
      focusOn(".graph-tools button")
    },
    back: () => router.go("/graph"),

    /** @param {Memory} memory */
    memoryAddress: ({ id }) => `/memories/${id}`,
    /** @param {Memory} memory */
    memoryName: ({ id }) => t("graph.memory", { id: String(id) }),
  }
}
