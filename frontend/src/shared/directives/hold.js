const SLIDE_MS = 160

/**
 * Rows keep their position while the pointer or the focus is inside. A list that can hold rows back also keeps still
 * while it is scrolled and if reduced motion is preferred; otherwise, at its top, rows slide to make room.
 * @param {HTMLElement} el @param {any} list @param {(end: () => void) => void} cleanup
 */
export function hold(el, list, cleanup) {
  const calm = matchMedia("(prefers-reduced-motion: reduce)")
  const waits = "waiting" in list
  let pointer = false
  const busy = () => pointer || el.contains(document.activeElement)
  const still = () => busy() || (waits && (calm.matches || scrollY >= 1))
  const settle = () => (still() ? list.hold() : list.release())
  const enter = (/** @type {boolean} */ inside) => () => {
    pointer = inside
    settle()
  }
  const ends = waits ? [slide(el, list), on(document, "scroll", settle), on(calm, "change", settle)] : []
  el.addEventListener("pointerenter", enter(true))
  el.addEventListener("pointerleave", enter(false))
  el.addEventListener("focusin", settle)
  el.addEventListener("focusout", () => setTimeout(settle))
  settle()
  cleanup(() => {
    ends.forEach((end) => end())
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
  let places = new WeakMap()
  let moved = list.moved
  const note = () => {
    const all = rows()
    const tops = all.map((row) => row.offsetTop)
    places = new WeakMap(all.map((row, at) => [row, tops[at]]))
    return { all, tops }
  }
  const watch = new MutationObserver(() => {
    const before = places
    const { all, tops } = note()
    const same = moved === list.moved
    moved = list.moved
    if (same || scrollY >= 1 || matchMedia("(prefers-reduced-motion: reduce)").matches) return
    all.forEach((row, at) => glide(row, (before.get(row) ?? tops[at]) - tops[at]))
  })
  watch.observe(el, { childList: true, subtree: true })
  const resized = on(window, "resize", note)
  return () => {
    watch.disconnect()
    resized()
  }
}

/** @param {HTMLElement} row @param {number} from */
function glide(row, from) {
  if (from) row.animate([{ transform: `translateY(${from}px)` }, {}], { duration: SLIDE_MS, easing: "ease-out" })
}

/** @param {EventTarget} target @param {string} name @param {() => unknown} run @returns {() => void} */
function on(target, name, run) {
  target.addEventListener(name, run, { passive: true })
  return () => target.removeEventListener(name, run)
}
