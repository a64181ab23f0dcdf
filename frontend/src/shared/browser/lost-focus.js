import { focusAfter, onceShown } from "./focus.js"

/** Longer than the page itself looks for a better place. */
const FRAMES = 40
const HEADINGS = ":is(main, dialog[open]) :is(h1, h2, h3)"

/**
 * If an action removes or hides the focused element, the next key press would start at the top of the
 * page, and a screen reader would lose its place. The focus then moves on: to the element that `data-focus-next` of the
 * removed part selects, to the other button of a pair (`data-pair`), from a toast to where it was before, otherwise to
 * the heading before it.
 */
export function keepFocus() {
  let focused = /** @type {Element | null} */ (null)
  let outside = /** @type {Element | null} the last one outside of the toasts */ (null)
  let around = /** @type {Element[]} */ ([])

  document.addEventListener("focusin", ({ target }) => {
    focused = /** @type {Element} */ (target)
    around = ancestors(focused)
    if (!isToast(around)) outside = focused
  })
  document.addEventListener("focusout", ({ target, relatedTarget }) => {
    if (!relatedTarget) onceShown(() => check(/** @type {Element} */ (target)))
  })
  const observer = new MutationObserver(() => focused && document.activeElement === document.body && check(focused))
  observer.observe(document.documentElement, { subtree: true, childList: true, attributeFilter: ["disabled"] })

  /** @param {Element} element */
  function check(element) {
    if (element !== focused) return
    if (isHere(element)) {
      // a button that is disabled during its request gets the focus back; otherwise the operator left the element
      if (document.activeElement === document.body && !element.matches(":disabled")) focused = null
      return
    }
    focused = null
    const [places, before] = [around, outside]
    const next = element.closest("[data-focus-next]")?.getAttribute("data-focus-next")
    if (next) return focusAfter(() => document.querySelector(next))
    if (element.matches("[data-pair]")) return focusAfter(() => pairOf(element))
    if (isToast(places)) return focusAfter(() => (before && isHere(before) ? before : headingBefore(places)))
    waitFor(FRAMES, () => focusHeading(element, places))
  }
}

/** @param {number} frames @param {() => void} action */
function waitFor(frames, action) {
  onceShown(() => (frames > 0 ? waitFor(frames - 1, action) : action()))
}

/** @param {Element} element @param {Element[]} places */
function focusHeading(element, places) {
  if (document.activeElement !== document.body || isHere(element)) return
  headingBefore(places)?.focus({ preventScroll: true })
}

/** The last heading before the nearest part that is still there. @param {Element[]} places */
function headingBefore(places) {
  const place = places.find(isHere)
  const headings = /** @type {HTMLElement[]} */ ([...document.querySelectorAll(HEADINGS)].filter(isShown))
  const isBefore = (/** @type {Element} */ heading) =>
    Boolean(place && place.compareDocumentPosition(heading) & Node.DOCUMENT_POSITION_PRECEDING)
  const heading = headings.findLast(isBefore) ?? headings[0]
  if (heading && !heading.hasAttribute("tabindex")) heading.tabIndex = -1
  return heading
}

/** @param {Element} element */
const pairOf = (element) => [...(element.parentElement?.querySelectorAll("[data-pair]") ?? [])].find(isShown)

/** @param {Element} element */
function ancestors(element) {
  const found = []
  for (let at = element.parentElement; at && at.localName !== "body"; at = at.parentElement) found.push(at)
  return found
}

/** @param {Element[]} places */
const isToast = (places) => places.some(({ className }) => className === "toasts")

/** @param {Element} element */
const isShown = (element) => element.checkVisibility({ visibilityProperty: true })

/** @param {Element} element */
const isHere = (element) => element.isConnected && isShown(element)
