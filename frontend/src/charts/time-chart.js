import { svg } from "./beats.js"
import { linePath, niceTop, spanAt, timeTicks } from "./time-scale.js"

/**
 * @typedef {{at: number, end: number, p50: number | null, p95: number | null, max: number | null, count: number, failures: number}} Span
 * @typedef {{from: number, to: number, label: string, kind: string}} Bar a bar; a bar without a length is drawn as a mark
 * @typedef {{name: string, bars: Bar[]}} Lane
 * @typedef {{from: number, to: number, spans: Span[], silences?: {from: number, to: number, label: string}[], lanes?: Lane[], label: string, say: (span: Span) => string}} TimeSpec
 */
const LEFT = 56
const RIGHT = 8
const TOP = 10
const PLOT = 130
const AXIS = 20
const LANE = 24
const CROSS = 3.5

/**
 * Latency over time, with lanes of events below it on the same axis. The median is a solid line, the 95th percentile a
 * dashed line and a failure a cross, so that none of them depends on color. The span under the pointer or the arrow
 * keys is described as text.
 * @param {HTMLElement} el
 */
export function timeChart(el) {
  const box = svg("svg", { class: "time-chart", role: "img", tabindex: "0" })
  const caption = document.createElement("p")
  /** @type {TimeSpec | null} */
  let spec = null
  let plot = PLOT
  let chosen = -1
  caption.className = "strip-words num"
  caption.setAttribute("aria-live", "polite")
  el.append(box, caption)
  const resized = new ResizeObserver(() => draw())
  resized.observe(el)
  box.addEventListener("pointermove", ({ offsetX }) => spec && choose(spanAt(spec.spans, timeAt(offsetX))))
  box.addEventListener("pointerleave", () => choose(-1))
  box.addEventListener("blur", () => choose(-1))
  box.addEventListener("keydown", onKey)
  return {
    /** @param {TimeSpec} next */
    show(next) {
      if (next.spans.length !== spec?.spans.length) chosen = -1
      spec = next
      draw()
    },
    close: () => resized.disconnect(),
  }

  function width() {
    return Math.max(240, el.clientWidth)
  }

  /** @param {number} offset */
  function timeAt(offset) {
    const { from, to } = /** @type {TimeSpec} */ (spec)
    return from + ((offset - LEFT) / (width() - LEFT - RIGHT)) * (to - from)
  }

  /** @param {number} at */
  function xOf(at) {
    const { from, to } = /** @type {TimeSpec} */ (spec)
    return LEFT + ((Math.min(to, Math.max(from, at)) - from) / (to - from || 1)) * (width() - LEFT - RIGHT)
  }

  function draw() {
    if (!spec || !el.clientWidth) return
    const { lanes = [], spans, label } = spec
    plot = spans.length || !lanes.length ? PLOT : 0
    const chartHeight = TOP + plot + AXIS + lanes.length * LANE
    const top = niceTop(Math.max(0, ...spans.map(({ p50, p95 }) => Math.max(p50 ?? 0, p95 ?? 0))))
    const y = (/** @type {number} */ ms) => TOP + plot - (ms / top) * plot
    box.setAttribute("viewBox", `0 0 ${width()} ${chartHeight}`)
    box.setAttribute("height", String(chartHeight))
    box.setAttribute("aria-label", label)
    box.replaceChildren(
      ...bands(chartHeight - AXIS),
      ...grid(top, y),
      ...["p95", "p50"].map((name) =>
        svg("path", { class: `line-${name}`, d: linePath(spans, /** @type {"p50" | "p95"} */ (name), xOf, y) }),
      ),
      ...failureMarks(),
      ...lanes.flatMap((lane, n) => drawLane(lane, TOP + plot + AXIS + n * LANE)),
      svg("path", { class: "time-cursor" }),
    )
    updateCaption()
  }

  /** Periods in which failures trigger nothing, such as maintenance windows. @param {number} chartHeight */
  function bands(chartHeight) {
    return (spec?.silences ?? []).map(({ from, to, label }) => {
      const band = svg("rect", { class: "time-band", x: String(xOf(from)), y: String(TOP) })
      band.setAttribute("width", String(Math.max(2, xOf(to) - xOf(from))))
      band.setAttribute("height", String(Math.min(chartHeight, plot)))
      band.append(titled(label))
      return band
    })
  }

  /** @param {number} top @param {(ms: number) => number} y */
  function grid(top, y) {
    const { from, to } = /** @type {TimeSpec} */ (spec)
    const levels = (plot ? [0, top / 2, top] : []).flatMap((ms) => [
      svg("path", { class: "time-grid", d: `M${LEFT} ${y(ms)}H${width() - RIGHT}` }),
      text(LEFT - 6, y(ms) + 4, ms >= 1_000 ? `${ms / 1_000} s` : `${ms} ms`, "end"),
    ])
    const ticks = timeTicks(from, to, Math.floor(width() / 110)).map(({ at, words: label }) =>
      text(xOf(at), TOP + plot + 14, label, "middle"),
    )
    return [...levels, ...ticks]
  }

  function failureMarks() {
    const y = TOP + plot - CROSS - 2
    const failed = (spec?.spans ?? []).filter(({ failures }) => failures > 0)
    const d = failed
      .map(({ at, end }) => xOf((at + end) / 2))
      .map((x) => `M${x - CROSS} ${y - CROSS}l7 7M${x - CROSS} ${y + CROSS}l7-7`)
    return [svg("path", { class: "time-failed", d: d.join("") })]
  }

  /** @param {Lane} lane @param {number} y */
  function drawLane({ name, bars }, y) {
    const shapes = bars.map(({ from, to, label, kind }) => {
      const [x, length] = [xOf(from), xOf(to) - xOf(from)]
      const shape =
        to > from
          ? svg("rect", { x: String(x), y: String(y + 5), width: String(Math.max(3, length)), height: "14", rx: "3" })
          : svg("path", { d: `M${x} ${y + 4}l7 8l-7 8l-7-8z` })
      shape.setAttribute("class", "lane-bar")
      shape.setAttribute("data-kind", kind)
      shape.append(titled(label))
      return shape
    })
    return [
      svg("path", { class: "time-grid", d: `M0 ${y}H${width() - RIGHT}` }),
      text(0, y + 16, name, "start"),
      ...shapes,
    ]
  }

  /** @param {number} at */
  function choose(at) {
    if (at === chosen) return
    chosen = at
    updateCaption()
  }

  function updateCaption() {
    if (!spec) return
    const span = spec.spans[chosen]
    const x = span ? xOf((span.at + span.end) / 2) : 0
    caption.textContent = span ? spec.say(span) : spec.label
    box.querySelector(".time-cursor")?.setAttribute("d", span ? `M${x} ${TOP}v${plot}` : "")
  }

  /** @param {KeyboardEvent} event */
  function onKey(event) {
    const step = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0
    if (!step || !spec?.spans.length) return
    event.preventDefault()
    const from = chosen < 0 ? spec.spans.length - (step < 0 ? 0 : 2) : chosen
    choose(Math.min(spec.spans.length - 1, Math.max(0, from + step)))
  }
}

/** @param {string} content */
function titled(content) {
  const title = svg("title", {})
  title.textContent = content
  return title
}

/** @param {number} x @param {number} y @param {string} content @param {"start" | "middle" | "end"} anchor */
function text(x, y, content, anchor) {
  const el = svg("text", { x: String(x), y: String(y), "text-anchor": anchor })
  el.textContent = content
  return el
}
