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

/**
 * The element with the focus may go with what is drawn next, in any of the next frames: another one then takes the
 * focus. A person who moved the focus meanwhile keeps it.
 * @param {() => Element | null | undefined} next
 */
export function focusAfter(next, frames = 30) {
  onceShown(() => {
    const { activeElement: held } = document
    const gone = !held || held === document.body || !held.checkVisibility({ visibilityProperty: true })
    const taker = gone ? /** @type {HTMLElement | null | undefined} */ (next()) : null
    taker?.focus()
    if (!taker && frames > 0) focusAfter(next, frames - 1)
  })
}
