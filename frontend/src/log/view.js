import { duration } from "../shared/format/format.js"
import { heights } from "./heights.js"
import { markerKey } from "./lines.js"
import { rowElement } from "./row.js"
import { t } from "../shared/texts/index.js"

const NEAR_THE_END = 32
const BEYOND = 20
const GLOW_MS = 2_400

/**
 * Renders the visible lines of an output and a few around them; padding stands for all others.
 * @param {HTMLElement} el @param {any} log
 */
export function logView(el, log) {
  const rowHeights = heights()
  const { space, part, probe } = built(el)
  /** @type {Map<string, HTMLElement>} */
  let rowElements = new Map()
  /** @type {Map<string, Marker>} */
  let marks = new Map()
  let [stamp, above, width, frame, goal] = [-1, 0, 0, 0, /** @type {any} */ (null)]
  let measure = { line: 20, characters: 80 }
  let anchor = { row: 0, within: 0 }
  let set = 0
  el.addEventListener("scroll", scrolled, { passive: true })
  el.addEventListener("click", clicked)
  const resized = new ResizeObserver(() => el.clientWidth !== width && schedule())
  resized.observe(el)
  return {
    /** Called whenever the rows change; painted once per frame. */
    show() {
      void [log.stamp, log.following, log.goal, log.chosen, log.wrap, log.place, log.whole]
      schedule()
    },

    /** @param {Marker[]} markers */
    mark(markers) {
      marks = new Map(markers.map((marker) => [markerKey(marker), marker]))
      for (const [key, row] of rowElements) applyClasses(row, key)
    },

    close() {
      cancelAnimationFrame(frame)
      resized.disconnect()
      highlight("found", [])
      highlight("found-here", [])
    },
  }

  function schedule() {
    cancelAnimationFrame(frame)
    frame = requestAnimationFrame(paint)
  }

  function paint() {
    recordPosition()
    positionRows()
    aim()
    place()
    draw()
    // measured heights moved the lines below: keep the visible line in place
    if (measureRows()) {
      place()
      draw()
    }
    highlightMatches()
  }

  /** Position the current rows by their estimated or measured heights. */
  function positionRows() {
    const wrap = String(log.wrap)
    if (stamp === log.stamp && width === el.clientWidth && el.dataset.wrap === wrap) return
    anchor.row = Math.max(0, anchor.row + log.above - above)
    ;[stamp, above, width] = [log.stamp, log.above, el.clientWidth]
    el.dataset.wrap = wrap
    measure = measured(probe)
    rowHeights.fill(log.count, (row) => estimate(log.line(row)))
  }

  /** @param {import("./lines.js").Line} line */
  function estimate({ text }) {
    return measure.line * (log.wrap ? Math.max(1, Math.ceil(text.length / measure.characters)) : 1)
  }

  function aim() {
    if (goal === log.goal) return
    goal = log.goal
    if (goal) anchor = { row: goal.row, within: -el.clientHeight / 3 }
  }

  function place() {
    space.style.blockSize = `${rowHeights.total}px`
    const maxScroll = el.scrollHeight - el.clientHeight
    const to = log.following ? maxScroll : Math.max(0, Math.min(maxScroll, rowHeights.top(anchor.row) + anchor.within))
    if (Math.abs(el.scrollTop - to) >= 1) el.scrollTop = to
    set = el.scrollTop
    if (log.following) recordAnchor()
  }

  /** The topmost visible row, and how far it is scrolled. */
  function recordAnchor() {
    const row = rowHeights.at(set)
    anchor = { row, within: set - rowHeights.top(row) }
  }

  function draw() {
    const first = Math.max(0, rowHeights.at(el.scrollTop) - BEYOND)
    const last = Math.min(log.count, rowHeights.at(el.scrollTop + el.clientHeight) + BEYOND + 1)
    const rows = new Map()
    for (let row = first; row < last; row++) {
      const line = log.line(row)
      const existing = rowElements.get(line.key)
      rows.set(
        line.key,
        existing && "head" in existing.dataset === line.head && line.kind !== "turn" ? existing : rowElement(line),
      )
      update(rows.get(line.key), line, row)
    }
    for (const [key, row] of rowElements) if (rows.get(key) !== row) row.remove()
    let previous = probe
    for (const row of rows.values()) {
      if (previous.nextElementSibling !== row) previous.after(row)
      previous = row
    }
    rowElements = rows
    part.dataset.first = String(first)
    part.style.transform = `translateY(${rowHeights.top(first)}px)`
  }

  /** Whether the height of any row differs from its estimate. */
  function measureRows() {
    let row = Number(part.dataset.first)
    let isChanged = false
    for (const element of rowElements.values()) {
      const size = element.offsetHeight
      if (Math.abs(size - rowHeights.size(row)) > 0.5) isChanged = rowHeights.set(row, size) !== 0
      row += 1
    }
    return isChanged
  }

  /** @param {HTMLElement} el @param {import("./lines.js").Line} line @param {number} row */
  function update(el, line, row) {
    const number = String(log.number(row) || "")
    const link = /** @type {HTMLElement} */ (el.firstElementChild)
    if (link.textContent !== number) link.textContent = number
    if (number) link.removeAttribute("aria-label")
    else link.setAttribute("aria-label", t("session.lineUnnumbered"))
    el.querySelector("button")?.setAttribute("aria-expanded", String(log.isOpen(line.fold)))
    const foldLabel = el.querySelector(".line-more")
    if (foldLabel) foldLabel.textContent = foldWords(line)
    el.toggleAttribute("data-chosen", line.key === log.chosen)
    applyClasses(el, line.key)
  }

  /** @param {HTMLElement} row @param {string} key */
  function applyClasses(row, key) {
    const marker = marks.get(key)
    if (marker) row.dataset.marker = marker.state
    else delete row.dataset.marker
  }

  /** Highlight the search matches without changing the text. */
  function highlightMatches() {
    const query = log.query.toLowerCase()
    /** @type {Range[]} */
    const allRanges = []
    /** @type {Range[]} */
    const currentRanges = []
    let row = Number(part.dataset.first)
    for (const element of rowElements.values()) {
      if (query) (log.isHere(row) ? currentRanges : allRanges).push(...ranges(element, query))
      element.toggleAttribute("data-here", Boolean(query) && log.isHere(row))
      row += 1
    }
    highlight("found", allRanges)
    highlight("found-here", currentRanges)
    if (goal?.flash !== false && goal) glow()
  }

  function glow() {
    goal.flash = false
    const row = rowElements.get(log.line(goal.row)?.key)
    row?.classList.add("is-fresh")
    setTimeout(() => row?.classList.remove("is-fresh"), GLOW_MS)
  }

  function scrolled() {
    recordPosition()
    schedule()
  }

  /** Record where the reader scrolled, unless the view itself scrolled. */
  function recordPosition() {
    if (Math.abs(el.scrollTop - set) < 1) return
    set = el.scrollTop
    recordAnchor()
    const distanceToEnd = el.scrollHeight - el.clientHeight - set
    if (distanceToEnd > NEAR_THE_END && log.following) log.pause()
    else if (distanceToEnd <= NEAR_THE_END && !log.following) log.follow()
  }

  /** @param {Event} click */
  function clicked(click) {
    const foldButton = /** @type {Element} */ (click.target).closest("button[data-fold]")
    if (foldButton instanceof HTMLElement) log.toggle(foldButton.dataset.fold)
  }
}

/** A text for the number of lines folded behind a line, and its duration. @param {import("./lines.js").Line} line */
function foldWords({ failed, behind, took }) {
  const lines = t(failed ? "session.foldedFailed" : "session.folded", { n: behind })
  return took === null ? lines : `${lines} · ${duration(took)}`
}

/** @param {HTMLElement} el */
function built(el) {
  const [space, part, probe] = ["log-space", "log-part", "line line--probe"].map((name) => {
    const div = document.createElement("div")
    div.className = name
    return div
  })
  probe.setAttribute("aria-hidden", "true")
  const text = document.createElement("span")
  text.className = "line-text"
  const sample = document.createElement("i")
  sample.textContent = "0".repeat(20)
  text.append(sample)
  probe.append(text)
  part.append(probe)
  space.append(part)
  el.replaceChildren(space)
  return { space, part, probe }
}

/** The height of a line here, and the number of characters that fit in it. @param {HTMLElement} probe */
function measured(probe) {
  const text = /** @type {HTMLElement} */ (probe.firstElementChild)
  const sample = /** @type {HTMLElement} */ (text.firstElementChild)
  const wide = sample.getBoundingClientRect().width / 20 || 8
  return { line: probe.offsetHeight || 20, characters: Math.max(8, Math.floor(text.clientWidth / wide)) }
}

/** @param {HTMLElement} row @param {string} query */
function ranges(row, query) {
  const text = row.querySelector(".line-text")?.firstChild
  const matches = []
  const rowText = text?.textContent?.toLowerCase() ?? ""
  for (let at = rowText.indexOf(query); text && at >= 0; at = rowText.indexOf(query, at + query.length)) {
    const range = new Range()
    range.setStart(text, at)
    range.setEnd(text, at + query.length)
    matches.push(range)
  }
  return matches
}

/** @param {string} name @param {Range[]} ranges */
function highlight(name, ranges) {
  const registry = /** @type {any} */ (CSS).highlights
  if (registry) registry.set(name, new /** @type {any} */ (globalThis).Highlight(...ranges))
}
