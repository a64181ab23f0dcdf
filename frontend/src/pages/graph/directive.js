/**
 * x-neighborhood: draws the neighborhood that the expression returns. Its code is loaded only when a drawing is shown.
 * @param {any} Alpine
 */
export function neighborhood(Alpine) {
  return (
    /** @type {HTMLElement} */ el,
    /** @type {{expression: string}} */ { expression },
    /** @type {any} */ { evaluateLater, effect, cleanup },
  ) => {
    const graph = Alpine.store("graph")
    const evaluate = evaluateLater(expression)
    let isRemoved = false
    /** @type {ReturnType<typeof import("./neighborhood.js").drawing> | null} */
    let view = null
    const tools = el.closest(".graph-picture")
    const zoom = (/** @type {Event} */ { target }) => {
      const dataset = /** @type {HTMLElement | null} */ (/** @type {Element} */ (target).closest("[data-zoom]"))
        ?.dataset.zoom
      if (dataset === "fit") view?.fit()
      else if (dataset) view?.zoom(Number(dataset))
    }
    import("./neighborhood.js").then(
      ({ drawing }) => {
        if (isRemoved) return
        view = drawing(el, {
          open: (id) => graph.open(id),
          showEdge: (id) => graph.showEdge(id),
          drop: (id, into) => graph.drop(id, into),
        })
        effect(() =>
          evaluate(
            (/** @type {import("./store.js").Neighborhood | null} */ neighborhood) =>
              neighborhood && view?.show(neighborhood),
          ),
        )
        tools?.addEventListener("click", zoom)
      },
      () => graph.notDrawn(),
    )
    cleanup(() => {
      isRemoved = true
      tools?.removeEventListener("click", zoom)
      view?.close()
    })
  }
}
