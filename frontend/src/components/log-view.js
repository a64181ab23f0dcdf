import { lineKey } from "../stores/log.js"

const NEAR_THE_END = 32

/** @typedef {import("../stores/log.js").Line} Line */

/**
 * The lines of an output as elements, made and dropped by hand: two thousand of them are too many for a template.
 * Their text is set as text, never as markup.
 * @param {HTMLElement} el @param {any} log
 */
export function logView(el, log) {
  let [from, to] = [0, 0]
  /** @type {Map<string, Marker>} */
  let marks = new Map()
  let frame = 0
  el.addEventListener("scroll", scrolled, { passive: true })
  return {
    /** Called whenever the range changes; painted once a frame. */
    show() {
      void [log.from, log.to, log.following, log.phase]
      cancelAnimationFrame(frame)
      frame = requestAnimationFrame(paint)
    },

    /** @param {Marker[]} markers */
    mark(markers) {
      marks = new Map(markers.map((marker) => [lineKey(marker.offset, marker.index, marker.line), marker]))
      for (const line of el.children) dress(/** @type {HTMLElement} */ (line))
    },

    close() {
      cancelAnimationFrame(frame)
    },
  }

  function paint() {
    const anchor = topLine()
    const overlap = log.from >= from && log.from < to && log.to >= to
    if (overlap) trim(log.from - from)
    else el.replaceChildren()
    const fragment = document.createDocumentFragment()
    for (const line of log.slice(overlap ? to : log.from, log.to)) fragment.append(element(line))
    el.append(fragment)
    from = log.from
    to = log.to
    if (log.following) el.scrollTop = el.scrollHeight
    else if (!overlap) keep(anchor)
  }

  /** @param {number} n */
  function trim(n) {
    for (; n > 0; n--) el.firstElementChild?.remove()
  }

  /** @param {Line} line */
  function element({ key, kind, text, first }) {
    const row = document.createElement("div")
    row.className = "line"
    row.dataset.kind = kind
    row.dataset.key = key
    if (first) row.dataset.label = kind
    row.textContent = text || " "
    dress(row)
    return row
  }

  /** @param {HTMLElement} row */
  function dress(row) {
    const marker = marks.get(row.dataset.key ?? "")
    if (marker) row.dataset.marker = marker.state
  }

  /** The first line in sight, to find the place again. */
  function topLine() {
    const top = el.scrollTop
    const row = /** @type {HTMLElement[]} */ ([...el.children]).find((each) => each.offsetTop >= top)
    return row ? { key: row.dataset.key, shift: row.offsetTop - top } : null
  }

  /** @param {{key: string | undefined, shift: number} | null} anchor */
  function keep(anchor) {
    const row = anchor?.key && rowOf(anchor.key)
    if (row) el.scrollTop = row.offsetTop - anchor.shift
  }

  /** @param {string} key */
  function rowOf(key) {
    return /** @type {HTMLElement | null} */ (el.querySelector(`[data-key="${key}"]`))
  }

  function scrolled() {
    const away = el.scrollHeight - el.clientHeight - el.scrollTop
    if (away > NEAR_THE_END && log.following) log.pause()
    else if (away <= NEAR_THE_END && !log.following && log.to === log.size) log.follow()
  }
}
