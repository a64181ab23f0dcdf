/**
 * Run once what changed in this turn is drawn: `x-show` shows an element only in the next frame, and an element that
 * is hidden takes no focus.
 * @param {() => void} act
 */
export function onceShown(act) {
  requestAnimationFrame(() => setTimeout(act))
}

/** Give the focus to the first match once it is shown. @param {string} selector */
export function focusOn(selector) {
  onceShown(() => /** @type {HTMLElement | null} */ (document.querySelector(selector))?.focus())
}
