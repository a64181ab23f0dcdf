import { focusAfter, onceShown } from "./focus.js"

/** Longer than a page itself looks for a better place. */
const FRAMES = 40

/** @typedef {{element: HTMLElement, room: Element | null, part: HTMLElement | null, headings: HTMLElement[]}} Place */

/**
 * If an action removes or hides the focused element, the next key press would start at the top of the page, and a
 * screen reader would lose its place. The focus then moves to the element that `data-focus-next` of its part selects,
 * from a message or a dialog to where it was before, otherwise to the heading before it. A page that moves the focus in
 * a part itself, in its own time, marks the part with `data-focus-own`.
 */
export function keepFocus() {
  let focused = /** @type {Place | null} */ (null)
  let outside = /** @type {Place | null} the last one outside of messages and dialogs */ (null)

  document.addEventListener("focusin", ({ target }) => {
    const place = placeOf(/** @type {HTMLElement} */ (target))
    focused = place.element.closest("[data-focus-own]") ? null : place
    if (!place.room?.matches(".toasts, dialog")) outside = place
  })
  document.addEventListener("focusout", ({ relatedTarget }) => relatedTarget || onceShown(check))
  const observer = new MutationObserver(check)
  observer.observe(document.documentElement, { subtree: true, childList: true, attributeFilter: ["disabled"] })

  function check() {
    if (!focused || document.activeElement !== document.body) return
    const { element, room } = focused
    if (isShown(element)) {
      // a button that is disabled during its request gets the focus back; the operator left any other
      if (!element.matches(":disabled")) focused = outside = null
      return
    }
    const inOpenDialog = room?.matches("dialog") && isShown(room)
    const places = [focused, inOpenDialog ? null : outside].filter((place) => place !== null)
    let frames = FRAMES
    focused = null
    focusAfter(() => nextOf(places) ?? (frames-- > 0 ? null : headingOf(places)), 2 * FRAMES, { preventScroll: true })
  }
}

/** @param {HTMLElement} element @returns {Place} */
function placeOf(element) {
  const room = element.closest("main, dialog, .toasts")
  const headings = [.../** @type {NodeListOf<HTMLElement>} */ ((room ?? element).querySelectorAll("h1, h2, h3"))]
  const isBefore = (/** @type {Element} */ heading) =>
    heading.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING
  return { element, room, part: element.closest("[data-focus-next]"), headings: headings.filter(isBefore).reverse() }
}

/** @param {Place[]} places */
function nextOf(places) {
  const candidates = places.flatMap(({ element, part }) => {
    const roots = part ? [part.parentElement ?? document, document] : []
    return [element, ...roots.flatMap((root) => [...root.querySelectorAll(part?.dataset.focusNext ?? "")])]
  })
  return candidates.find((candidate) => isShown(candidate) && !candidate.matches(":disabled"))
}

/** @param {Place[]} places */
function headingOf(places) {
  const heading = places.flatMap(({ headings }) => headings).find(isShown) ?? document.querySelector("main h1")
  heading?.setAttribute("tabindex", "-1")
  return heading
}

/** @param {Element} element */
const isShown = (element) => element.checkVisibility({ visibilityProperty: true })
