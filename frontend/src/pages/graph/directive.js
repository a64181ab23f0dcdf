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
    let gone = false
    /** @type {ReturnType<typeof import("./neighborhood.js").drawing> | null} */
    let view = null
    const tools = el.closest(".graph-picture")
    const zoom = (/** @type {Event} */ { target }) => {
      const by = /** @type {HTMLElement | null} */ (/** @type {Element} */ (target).closest("[data-zoom]"))?.dataset
        .zoom
      if (by === "fit") view?.fit()
      else if (by) view?.zoom(Number(by))
    }
    import("./neighborhood.js").then(
      ({ drawing }) => {
        if (gone) return
        view = drawing(el, {
          open: (id) => graph.open(id),
          showEdge: (id) => graph.showEdge(id),
          drop: (id, into) => graph.drop(id, into),
        })
        effect(() =>
          evaluate((/** @type {import("./store.js").Neighborhood | null} */ around) => around && view?.show(around)),
        )
        tools?.addEventListener("click", zoom)
      },
      () => graph.notDrawn(),
    )
    cleanup(() => {
      gone = true
      tools?.removeEventListener("click", zoom)
      view?.close()
    })
  }
}
