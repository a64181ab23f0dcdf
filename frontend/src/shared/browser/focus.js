/**
 * Run once what changed in this turn is drawn: `x-show` shows an element only in the next frame, and an element that
 * is hidden takes no focus.
 * @param {() => void} act
 */
export function onceShown(act) {
  requestAnimationFrame(() => setTimeout(act))
}

/**
 * Give the focus to the first match once it is shown; a page that is still being drawn may take some frames.
 * @param {string} selector
 */
export function focusOn(selector, frames = 30) {
  onceShown(() => {
    const found = /** @type {HTMLElement | null} */ (document.querySelector(selector))
    found?.focus()
    if (frames > 0 && (!found || document.activeElement !== found)) focusOn(selector, frames - 1)
  })
}
