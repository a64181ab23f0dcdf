/**
 * Run after the changes of this turn are rendered: `x-show` shows an element only in the next frame, and a hidden
 * element cannot receive the focus.
 * @param {() => void} action
 */
export function onceShown(action) {
  requestAnimationFrame(() => setTimeout(action))
}

/**
 * Focus the first match once it is shown; a page that is still being rendered may need some frames.
 * @param {string} selector
 */
export function focusOn(selector, frames = 30) {
  onceShown(() => {
    const element = /** @type {HTMLElement | null} */ (document.querySelector(selector))
    element?.focus()
    if (frames > 0 && (!element || document.activeElement !== element)) focusOn(selector, frames - 1)
  })
}

/**
 * The focused element may disappear within the next frames: another element then receives the focus. If the operator
 * moves the focus meanwhile, it stays there.
 * @param {() => Element | null | undefined} next @param {number} [frames] @param {FocusOptions} [options]
 */
export function focusAfter(next, frames = 30, options = {}) {
  onceShown(() => {
    const { activeElement: focused } = document
    const focusLost = !focused || focused === document.body || !focused.checkVisibility({ visibilityProperty: true })
    const target = focusLost ? /** @type {HTMLElement | null | undefined} */ (next()) : null
    target?.focus(options)
    if (!target && frames > 0) focusAfter(next, frames - 1, options)
  })
}

/**
 * A button that is disabled during its request loses the focus. The button gets the focus back when it is enabled again,
 * unless the operator moved the focus meanwhile.
 */
export function returnFocus() {
  let focused = /** @type {EventTarget | null} */ (null)
  document.addEventListener("focusin", ({ target }) => (focused = target))
  document.addEventListener("focusout", ({ target }) => {
    if (!(/** @type {HTMLButtonElement} */ (target).disabled)) focused = null
  })
  const observer = new MutationObserver((records) => {
    const button = /** @type {HTMLButtonElement | undefined} */ (
      records.find(({ target }) => target === focused)?.target
    )
    if (button && !button.disabled && document.activeElement === document.body) button.focus({ preventScroll: true })
  })
  observer.observe(document.documentElement, { subtree: true, attributeFilter: ["disabled"] })
}
