import cytoscape from "cytoscape"
import { places } from "./layout.js"
import { kindWords } from "./store.js"

const NEAR = 34
const MARGIN = 28
const SHAPES = /** @type {Record<string, string>} */ ({
  decision: "diamond",
  person: "ellipse",
  project: "hexagon",
  service: "round-rectangle",
  tool: "rectangle",
  organization: "octagon",
  concept: "round-triangle",
})

/**
 * The neighborhood of an entity, drawn in an element: a click on an entity opens it, a click on a relationship shows
 * its memories, and an entity dropped on another is merged into it. The element has the id that Cytoscape looks for
 * before it adds a style sheet of its own, which the content security policy would refuse.
 * @param {HTMLElement} el
 * @param {{open: (id: number) => void, showEdge: (id: number) => void, drop: (id: number, into: number) => Promise<boolean>}} acts
 */
export function drawing(el, { open, showEdge, drop }) {
  const cy = cytoscape({
    container: el,
    style: styleOf(el),
    minZoom: 0.2,
    maxZoom: 1.6,
    userZoomingEnabled: false, // the wheel scrolls the page
    boxSelectionEnabled: false,
    selectionType: "single",
  })
  const dark = matchMedia("(prefers-color-scheme: dark)")
  const restyle = () => cy.style(styleOf(el))
  const themes = new MutationObserver(restyle)
  themes.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] })
  dark.addEventListener("change", restyle)
  cy.on("resize", fit)
  cy.on("tap", "node", ({ target }) => open(Number(target.id())))
  cy.on("tap", "edge", ({ target }) => showEdge(Number(target.data("number"))))
  cy.on("grab", "node", ({ target }) => target.scratch("_from", { ...target.position() }))
  cy.on("drag", "node", ({ target }) => {
    cy.nodes().removeClass("is-target")
    nodeUnder(target)?.addClass("is-target")
  })
  cy.on("free", "node", async ({ target }) => {
    const targetNode = nodeUnder(target)
    cy.nodes().removeClass("is-target")
    if (!targetNode) return
    target.position(target.scratch("_from"))
    await drop(Number(target.id()), Number(targetNode.id()))
  })

  /** The entity under the one being dragged. @param {any} node */
  function nodeUnder(node) {
    const { x, y } = node.position()
    return cy
      .nodes()
      .filter((other) => other.id() !== node.id() && Math.hypot(other.position().x - x, other.position().y - y) < NEAR)
      .toArray()[0]
  }

  function fit() {
    cy.fit(undefined, MARGIN)
    if (cy.zoom() > 1) cy.zoom(1).center()
  }

  return {
    /** @param {import("./store.js").Neighborhood} subgraph */
    show(subgraph) {
      const at = places(subgraph, Math.min(1.6, Math.max(0.8, cy.width() / cy.height())))
      const nodeIds = new Set(subgraph.nodes.map(({ id }) => id))
      cy.batch(() => {
        cy.elements().remove()
        cy.add(
          subgraph.nodes.map(({ id, name, kind }) => ({
            data: { id: String(id), label: `${name}\n${kind}`, kind, center: id === subgraph.center },
            position: { ...(at.get(id) ?? { x: 0, y: 0 }) },
          })),
        )
        cy.add(
          subgraph.edges
            .filter(({ source_id, target_id }) => nodeIds.has(source_id) && nodeIds.has(target_id))
            .map((edge) => ({
              data: {
                id: `edge-${edge.id}`,
                number: edge.id,
                source: String(edge.source_id),
                target: String(edge.target_id),
                label: kindWords(edge),
              },
            })),
        )
      })
      fit()
    },

    /** @param {number} factor */
    zoom(factor) {
      cy.zoom({ level: cy.zoom() * factor, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } })
    },

    fit,

    close() {
      themes.disconnect()
      dark.removeEventListener("change", restyle)
      cy.destroy()
    },
  }
}

/** The current colors and fonts of the page. @param {HTMLElement} el @returns {any[]} */
function styleOf(el) {
  const { fontFamily } = getComputedStyle(el)
  const color = (/** @type {string} */ name) => colorOf(el, name)
  const text = { color: color("--ink"), "font-family": fontFamily, "font-size": 12 }
  return [
    {
      selector: "node",
      style: {
        ...text,
        label: "data(label)",
        shape: (/** @type {any} */ node) => SHAPES[node.data("kind")] ?? "ellipse",
        width: 22,
        height: 22,
        "text-wrap": "wrap",
        "text-max-width": 120,
        "text-valign": "bottom",
        "text-margin-y": 4,
        "text-background-color": color("--surface"),
        "text-background-opacity": 0.85,
        "text-background-padding": 2,
        "background-color": color("--surface"),
        "border-color": color("--edge"),
        "border-width": 2,
      },
    },
    {
      selector: "node[?center]",
      style: { "background-color": color("--flame"), "border-color": color("--flame-ink"), width: 30, height: 30 },
    },
    { selector: "node.is-target", style: { "border-color": color("--link"), "border-width": 5 } },
    {
      selector: "edge",
      style: {
        ...text,
        color: color("--ink-2"),
        label: "data(label)",
        width: 2,
        "curve-style": "bezier",
        "line-color": color("--edge"),
        "target-arrow-color": color("--edge"),
        "target-arrow-shape": "triangle",
        "text-background-color": color("--surface"),
        "text-background-opacity": 0.85,
        "text-background-padding": 2,
        "text-rotation": "none",
      },
    },
    { selector: "edge:selected", style: { "line-color": color("--link"), "target-arrow-color": color("--link") } },
    { selector: "core", style: { "active-bg-opacity": 0 } },
  ]
}

/**
 * A page color in a format that Cytoscape parses: it does not support oklch().
 * @param {HTMLElement} el
 * @param {string} name
 */
function colorOf(el, name) {
  const probe = document.createElement("span")
  probe.style.color = `var(${name})`
  el.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  const canvas = document.createElement("canvas")
  canvas.width = canvas.height = 1
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"))
  context.fillStyle = color
  context.fillRect(0, 0, 1, 1)
  const [red, green, blue] = context.getImageData(0, 0, 1, 1).data
  return `rgb(${red}, ${green}, ${blue})`
}
