const SLIDE_MS = 160

/**
 * Rows keep their position while the pointer or the focus is inside. A list that can hold rows back also keeps still
 * while it is scrolled and if reduced motion is preferred; otherwise, at its top, rows slide to make room.
 * @param {HTMLElement} el @param {any} list @param {(end: () => void) => void} cleanup
 */
export function hold(el, list, cleanup) {
  const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)")
  const hasQueue = "waiting" in list
  let pointer = false
  const isBusy = () => pointer || el.contains(document.activeElement)
  const mustHold = () => isBusy() || (hasQueue && (reducedMotion.matches || scrollY >= 1))
  const update = () => (mustHold() ? list.hold() : list.release())
  const enter = (/** @type {boolean} */ inside) => () => {
    pointer = inside
    update()
  }
  const cleanups = hasQueue
    ? [slide(el, list), on(document, "scroll", update), on(reducedMotion, "change", update)]
    : []
  el.addEventListener("pointerenter", enter(true))
  el.addEventListener("pointerleave", enter(false))
  el.addEventListener("focusin", update)
  el.addEventListener("focusout", () => setTimeout(update))
  update()
  cleanup(() => {
    cleanups.forEach((stop) => stop())
    list.release()
  })
}

/**
 * Rows that are pushed aside slide to their new position, so that nothing jumps.
 * @param {HTMLElement} el
 * @param {any} list
 */
function slide(el, list) {
  const rows = () => /** @type {HTMLElement[]} */ ([...el.querySelectorAll(".row")])
  /** @type {WeakMap<HTMLElement, number>} */
  let positions = new WeakMap()
  let lastMoved = list.moved
  const note = () => {
    const elements = rows()
    const tops = elements.map((row) => row.offsetTop)
    positions = new WeakMap(elements.map((row, at) => [row, tops[at]]))
    return { all: elements, tops }
  }
  const observer = new MutationObserver(() => {
    const previous = positions
    const { all: elements, tops } = note()
    const steps = elements.map((row, at) => (previous.get(row) ?? tops[at]) - tops[at])
    // Other changes may be reported between a move in the list and its rows.
    if (lastMoved === list.moved || !steps.some(Boolean)) return
    lastMoved = list.moved
    if (scrollY >= 1 || matchMedia("(prefers-reduced-motion: reduce)").matches) return
    elements.forEach((row, at) => glide(row, steps[at]))
  })
  observer.observe(el, { childList: true, subtree: true })
  // Rows can get their height after they were reported: when they are filled, shown, or the window changes.
  const resized = new ResizeObserver(note)
  resized.observe(el)
  return () => {
    observer.disconnect()
    resized.disconnect()
  }
}

/**
 * Several glides of a row are added, so that the row does not jump if the next one begins before the end of the last.
 * @param {HTMLElement} row @param {number} from
 */
function glide(row, from) {
  if (!from) return
  const transform = [`translateY(${from}px)`, "translateY(0)"]
  row.animate({ transform }, { duration: SLIDE_MS, easing: "ease-out", composite: "add" })
}

/** @param {EventTarget} target @param {string} name @param {() => unknown} run @returns {() => void} */
function on(target, name, run) {
  target.addEventListener(name, run, { passive: true })
  return () => target.removeEventListener(name, run)
}
