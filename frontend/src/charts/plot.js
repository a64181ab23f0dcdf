/**
 * @typedef {"flame" | "ink" | "good" | "warn" | "bad" | "line" | "edge"} Role the role of a color
 * @typedef {{values: (number | null)[], role: Role, kind: "line" | "steps" | "bars", dash?: boolean}} Series
 * @typedef {{x: number, y: number, role: Role}} Dot
 * @typedef {{
 *   x: number[], series: Series[], height?: number, bare?: boolean,
 *   range?: [number, number],
 *   y?: {min?: number, max?: number, floor?: number},
 *   dots?: Dot[],
 *   choose?: (from: number, to: number) => void,
 * }} Spec `x` in seconds since 1970, rising; `bare` leaves the axes out; `range` is the range
 *   of x, with bars that begin at their x; `floor` is a horizontal line; `choose` is called with a range selected by dragging
 */

/**
 * A chart in an element of fixed height, drawn once its library has loaded; it follows its width and the theme. The
 * page must show the same content as text: the chart is hidden from screen readers.
 * @param {HTMLElement} el
 */
export function plot(el) {
  /** @type {Spec | null} */
  let spec = null
  /** @type {import("./drawing.js").Drawing | null} */
  let drawing = null
  let isClosed = false
  el.setAttribute("aria-hidden", "true")
  const resized = new ResizeObserver(() => drawing?.fit())
  const themed = new MutationObserver(redraw)
  const dark = matchMedia("(prefers-color-scheme: dark)")
  resized.observe(el)
  themed.observe(document.documentElement, { attributeFilter: ["data-theme"] })
  dark.addEventListener("change", redraw)
  return {
    /** @param {Spec} next */
    show(next) {
      const loading = spec === null
      spec = next
      if (loading) import("./drawing.js").then(({ draw }) => !isClosed && begin(draw))
      else redraw()
    },

    close() {
      isClosed = true
      resized.disconnect()
      themed.disconnect()
      dark.removeEventListener("change", redraw)
      drawing?.close()
    },
  }

  /** @param {typeof import("./drawing.js").draw} draw */
  function begin(draw) {
    drawing = draw(el)
    redraw()
  }

  function redraw() {
    if (drawing && spec) drawing.show(spec)
  }
}

/** The width of an axis, in pixels: that of its longest label. @param {string[] | null} labels */
export function axisWidth(labels) {
  return Math.max(34, 10 + 7 * Math.max(0, ...(labels ?? []).map((label) => label.length)))
}

const EDGES = 32
/**
 * The least distance between labels of an upright axis, in pixels: a low chart, too, has a label above zero. Steps of
 * labels are up to 2.5 times apart. @param {number} height
 */
export function tickSpace(height) {
  return Math.min(24, (height - EDGES) / 2.5)
}
