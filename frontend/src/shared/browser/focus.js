/**
 * Run after the changes of this turn are rendered: `x-show` shows an element only in the next frame, and a hidden
 * element cannot receive the focus.
 * @param {() => void} act
 */
export function onceShown(act) {
  requestAnimationFrame(() => setTimeout(act))
}

/**
 * Focus the first match once it is shown; a page that is still being rendered may need some frames.
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
 * The focused element may disappear within the next frames: another element then receives the focus. If the operator
 * moves the focus meanwhile, it stays there.
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
