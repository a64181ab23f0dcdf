import { focusOn } from "../browser/focus.js"

const FRAMES = 30
const FRAME_MS = 16
const CONTROLS = "a, button, input, select, label, form"

/** Show the rows held back, and focus the first of them. @param {any} list */
export function revealIn(list) {
  const [first] = list.reveal()
  if (first) focusOn("tr.is-fresh [data-row]")
}

/**
 * Whether a click hit a control inside a row, or selected text: such a click does not open the row.
 * @param {Event} click
 */
export function onControl(click) {
  return Boolean(/** @type {Element} */ (click.target).closest(CONTROLS)) || String(getSelection()) !== ""
}

/**
 * Keep the focus in the list after the focused element is removed: on a row, or on the summary of the list. The target
 * may take some frames to appear; if the operator moves the focus meanwhile, it stays there.
 * @param {number | null} [id] @param {number} [attempts]
 */
export function focusList(id = null, attempts = FRAMES) {
  setTimeout(() => {
    const row = /** @type {HTMLElement | null} */ (document.querySelector(`[data-id="${id}"] [data-row]`))
    const sum = /** @type {HTMLElement | null} */ (document.querySelector(".list-sum"))
    const target = row ?? sum
    target?.focus()
    if (attempts && document.activeElement === document.body) focusList(id, attempts - 1)
  }, FRAME_MS)
}
