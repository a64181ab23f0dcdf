import "uplot/dist/uPlot.min.css"
import uPlot from "uplot"
import { axisWidth, tickSpace } from "./plot.js"

const HEIGHT = 96
const DOT = 3.5

/** @typedef {import("./plot.js").Spec} Spec @typedef {import("./plot.js").Role} Role @typedef {ReturnType<typeof draw>} Drawing */

/** Draw specs in an element, in the colors of its theme. @param {HTMLElement} el */
export function draw(el) {
  /** @type {uPlot | null} */
  let chart = null
  return {
    /** @param {Spec} spec */
    show(spec) {
      chart?.destroy()
      el.style.blockSize = `${heightOf(el, spec)}px`
      chart = new uPlot(options(el, spec), [spec.x, ...spec.series.map(({ values }) => values)], el)
      if (spec.choose) tinted(el)
    },

    fit() {
      if (chart && el.clientWidth) chart.setSize({ width: el.clientWidth, height: chart.height })
    },

    close() {
      chart?.destroy()
    },
  }
}

/** The height that the page reserves for a chart. @param {HTMLElement} el @param {Spec} spec */
function heightOf(el, spec) {
  return parseFloat(getComputedStyle(el).getPropertyValue("--plot-height")) || spec.height || HEIGHT
}

const WHOLE = [1, 2, 5]
  .flatMap((factor) => [0, 1, 2, 3, 4, 5].map((power) => factor * 10 ** power))
  .sort((a, b) => a - b)

/**
 * The range of x: the first and last bar get space for their full width.
 * @param {Spec} spec
 * @returns {uPlot.Scale.Range | undefined}
 */
function spanOf(spec) {
  const { x, range } = spec
  if (range) return () => range
  if (!counted(spec) || x.length < 2) return undefined
  const halfStep = (x[1] - x[0]) / 2
  return () => [x[0] - halfStep, x[x.length - 1] + halfStep]
}

/** Whether the values are counts, whose ticks must be integers. @param {Spec} spec */
function counted({ series }) {
  return series[0]?.kind === "bars"
}

/** Fill the range selected by dragging with the selection color. @param {HTMLElement} el */
function tinted(el) {
  const area = /** @type {HTMLElement | null} */ (el.querySelector(".u-select"))
  if (area) area.style.background = "color-mix(in oklch, var(--flame) 24%, transparent)"
}

/** @param {HTMLElement} el @param {Spec} spec @returns {uPlot.Options} */
function options(el, spec) {
  const color = colorsOf(el)
  const { y = {}, bare = false, choose } = spec
  const height = heightOf(el, spec)
  return {
    width: el.clientWidth || 300,
    height,
    legend: { show: false },
    padding: bare ? [4, 4, 4, 4] : [6, spec.range ? 18 : 8, 0, 0],
    cursor: choose
      ? { x: false, y: false, points: { show: false }, drag: { x: true, y: false, setScale: false } }
      : { show: false },
    scales: {
      x: { time: true, range: spanOf(spec) },
      y: { range: (_, low, high) => [y.min ?? low, y.max ?? Math.max(high, 1)] },
    },
    axes: [
      { ...axis(color, bare, 70), values: moments, size: 26 },
      {
        ...axis(color, bare, tickSpace(height)),
        size: (_, labels) => axisWidth(labels),
        incrs: counted(spec) ? WHOLE : undefined,
      },
    ],
    series: [{}, ...spec.series.map((line) => seriesOf(line, color, spec.range !== undefined))],
    hooks: { draw: [(chart) => overlay(chart, spec, color)], setSelect: [(chart) => chosen(chart, choose)] },
  }
}

/** @param {(role: Role | "ink-3" | "line-2") => string} color @param {boolean} bare @param {number} space @returns {uPlot.Axis} */
function axis(color, bare, space) {
  if (bare) return { show: false }
  const line = { stroke: color("line-2"), width: 1 }
  return {
    stroke: color("ink-3"),
    font: "11px Inter, system-ui, sans-serif",
    grid: line,
    ticks: { show: false },
    space,
  }
}

const clock = new Intl.DateTimeFormat("en-US", { hour: "2-digit", minute: "2-digit", hourCycle: "h23" })
const toTheSecond = new Intl.DateTimeFormat("en-US", { timeStyle: "medium", hourCycle: "h23" })
const day = new Intl.DateTimeFormat("en-US", { day: "numeric", month: "short" })

/**
 * Labels for times along an axis: the date at the start of a day, otherwise the time.
 * @param {uPlot} _
 * @param {number[]} ticks
 * @param {number} __
 * @param {number} ___
 * @param {number} stepSeconds
 */
function moments(_, ticks, __, ___, stepSeconds) {
  return ticks.map((seconds) => {
    const time = new Date(seconds * 1_000)
    if (stepSeconds >= 86_400 || time.getHours() + time.getMinutes() + time.getSeconds() === 0) return day.format(time)
    return (stepSeconds < 60 ? toTheSecond : clock).format(time)
  })
}

/** @param {import("./plot.js").Series} each @param {(role: Role) => string} color @param {boolean} aligned @returns {uPlot.Series} */
function seriesOf({ kind, role, dash }, color, aligned) {
  const { bars, stepped } = uPlot.paths
  const paths =
    kind === "bars"
      ? bars?.({ size: [0.85, 24], align: aligned ? 1 : 0 })
      : kind === "steps"
        ? stepped?.({ align: 1 })
        : undefined
  return {
    stroke: color(role),
    width: kind === "bars" ? 0 : 2,
    fill: kind === "bars" ? color(role) : undefined,
    dash: dash ? [3, 4] : undefined,
    points: { show: false },
    paths,
  }
}

/**
 * Draw the threshold line and the dots over the chart.
 * @param {uPlot} chart
 * @param {Spec} spec
 * @param {(role: Role) => string} color
 */
function overlay(chart, { y, dots = [] }, color) {
  const { ctx, bbox } = chart
  ctx.save()
  if (y?.floor !== undefined) {
    const at = chart.valToPos(y.floor, "y", true)
    ctx.strokeStyle = color("ink")
    ctx.globalAlpha = 0.45
    ctx.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio])
    ctx.beginPath()
    ctx.moveTo(bbox.left, at)
    ctx.lineTo(bbox.left + bbox.width, at)
    ctx.stroke()
    ctx.globalAlpha = 1
  }
  for (const dot of dots) {
    ctx.fillStyle = color(dot.role)
    ctx.beginPath()
    ctx.arc(chart.valToPos(dot.x, "x", true), chart.valToPos(dot.y, "y", true), DOT * devicePixelRatio, 0, 2 * Math.PI)
    ctx.fill()
  }
  ctx.restore()
}

/** @param {uPlot} chart @param {Spec["choose"]} choose */
function chosen(chart, choose) {
  const { left, width } = chart.select
  if (!choose || width < 3) return
  choose(chart.posToVal(left, "x"), chart.posToVal(left + width, "x"))
  chart.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
}

/**
 * A color token in the form that the canvas accepts: the browser resolves light-dark() only in a property.
 * @param {HTMLElement} el
 */
function colorsOf(el) {
  const probe = document.createElement("i")
  el.append(probe)
  const colors = new Map()
  for (const role of ["flame", "ink", "good", "warn", "bad", "line", "edge", "ink-3", "line-2"]) {
    probe.style.color = `var(--${role})`
    colors.set(role, getComputedStyle(probe).color)
  }
  probe.remove()
  return (/** @type {string} */ role) => colors.get(role)
}
