import { t } from "../shared/texts/index.js"
import { clockSeconds } from "../shared/format/format.js"

/** @typedef {import("../shared/stores/heartbeats.js").Beat} Beat */
const SHOWN = 60
const STEP = 4
const HIGH = 24
const TALL = /** @type {Record<string, number>} */ ({ p: 11, w: 17, f: 24, i: 4, m: 7 })
const NONE = -1

/** The state of a result as text. @param {string} state */
const stateWords = (state) =>
  ({ p: t("common.passed"), w: t("common.warned"), f: t("common.failed"), m: t("common.in_maintenance") })[state] ??
  t("common.inconclusive")

/**
 * The bars of one state as an SVG path; the newest result is at the right end.
 * @param {Beat[]} beats
 * @param {string} state
 */
export function barPath(beats, state) {
  const first = SHOWN - beats.length
  return beats
    .map((beat, n) => (beat.state === state ? `M${(first + n) * STEP} ${HIGH}v-${TALL[state]}h3v${TALL[state]}z` : ""))
    .join("")
}

/** Latency of the first check as a line from 0, with a gap where no latency was measured. @param {Beat[]} beats */
export function sparkPath(beats) {
  const [check] = beats.map((beat) => beat.check).sort()
  const maxMs = 1.5 * Math.max(1, ...beats.map((beat) => (beat.check === check && beat.ms) || 0))
  const first = SHOWN - beats.length
  let command = "M"
  return beats
    .map((beat, n) => {
      if (beat.check !== check) return ""
      const { ms } = beat
      const segment =
        ms === null ? "" : `${command}${(first + n) * STEP} ${(HIGH - 1 - (ms / maxMs) * (HIGH - 2)).toFixed(1)}`
      command = ms === null ? "M" : "L"
      return segment
    })
    .join("")
}

/** A text summary of all results. @param {Beat[]} beats */
export function beatsWords(beats) {
  const failed = beats.filter(({ state }) => state === "f")
  const n = beats.length
  if (!n) return t("common.beats_none")
  const lastFailure = failed.at(-1)
  const silent = beats.filter(({ state }) => state === "m").length
  if (!lastFailure) return silent ? t("common.beats_silent", { silent, n }) : t("common.beats_passed", { n })
  return t("common.beats_failed", { bad: failed.length, n, at: clockSeconds(lastFailure.at) })
}

/** A text for one result. @param {Beat} beat */
export function beatWords({ at, state, ms, check }) {
  const latency = ms === null ? "" : `, ${t("common.ms", { n: String(Math.round(ms)) })}`
  return `${clockSeconds(at)}: ${check} ${stateWords(state)}${latency}`
}

/**
 * The latest results of a service as bars, and one line of text: a summary of all of them, or the result under the
 * pointer or chosen with the arrow keys. Height encodes the state in addition to color.
 * @param {HTMLElement} el
 */
export function beatsView(el) {
  const bars = svg("svg", { class: "beats", viewBox: `0 0 ${SHOWN * STEP} ${HIGH}`, preserveAspectRatio: "none" })
  const marker = svg("rect", { class: "beats-mark", width: String(STEP), height: String(HIGH), y: "0" })
  const paths = Object.fromEntries([..."pwfim"].map((state) => [state, svg("path", { "data-state": state })]))
  const caption = document.createElement("p")
  const spark = el.hasAttribute("data-spark") ? sparkIn() : null
  /** @type {Beat[]} */
  let beats = []
  let chosen = NONE
  bars.append(marker, ...Object.values(paths))
  bars.setAttribute("role", "img")
  bars.setAttribute("tabindex", "0")
  caption.className = "strip-words"
  el.append(bars, ...(spark ? [spark.svg] : []), caption)
  bars.addEventListener("pointermove", ({ offsetX }) =>
    choose(Math.floor((offsetX / bars.clientWidth) * SHOWN) - (SHOWN - beats.length)),
  )
  bars.addEventListener("pointerleave", () => choose(NONE))
  bars.addEventListener("blur", () => choose(NONE))
  bars.addEventListener("keydown", onKey)
  return {
    /** @param {{beats: Beat[]} | null} row */
    show(row) {
      beats = row?.beats.slice(-SHOWN) ?? []
      for (const [state, path] of Object.entries(paths)) put(path, "d", barPath(beats, state))
      if (spark) put(spark.line, "d", sparkPath(beats))
      put(bars, "aria-label", row ? beatsWords(beats) : t("common.beats_loading"))
      updateCaption(row !== null)
    },
  }

  /** @param {boolean} [isLoaded] */
  function updateCaption(isLoaded = true) {
    const captionText = beats[chosen] ? beatWords(beats[chosen]) : isLoaded ? beatsWords(beats) : "\u00a0"
    if (caption.textContent !== captionText) caption.textContent = captionText
    put(marker, "x", String((SHOWN - beats.length + chosen) * STEP))
    marker.toggleAttribute("data-on", Boolean(beats[chosen]))
    el.toggleAttribute("data-chosen", Boolean(beats[chosen]))
  }

  /** @param {number} at */
  function choose(at) {
    caption.setAttribute("aria-live", at === NONE ? "off" : "polite")
    chosen = at < 0 ? NONE : at
    updateCaption()
  }

  /** @param {KeyboardEvent} event */
  function onKey(event) {
    const step = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0
    if (!step || !beats.length) return
    event.preventDefault()
    const from = chosen === NONE ? beats.length + (step < 0 ? 0 : -2) : chosen
    choose(Math.min(beats.length - 1, Math.max(0, from + step)))
  }
}

/** Set an attribute only if its value changed. @param {Element} el @param {string} name @param {string} value */
function put(el, name, value) {
  if (el.getAttribute(name) !== value) el.setAttribute(name, value)
}

function sparkIn() {
  const line = svg("path", {})
  const box = svg("svg", {
    class: "spark",
    viewBox: `0 0 ${SHOWN * STEP} ${HIGH}`,
    preserveAspectRatio: "none",
    "aria-hidden": "true",
  })
  box.append(line)
  return { svg: box, line }
}

/** @param {string} name @param {Record<string, string>} attributes */
export function svg(name, attributes) {
  const el = document.createElementNS("http://www.w3.org/2000/svg", name)
  for (const [key, value] of Object.entries(attributes)) el.setAttribute(key, value)
  return el
}
