import { focusOn } from "../browser/focus.js"

const FRAMES = 30
const FRAME_MS = 16
const CONTROLS = "a, button, input, select, label, form"

/** Show what waited and put the focus on the first of it. @param {any} list */
export function revealIn(list) {
  const [first] = list.reveal()
  if (first) focusOn("tr.is-fresh [data-row]")
}

/** A click on a row opens it; a click on something in it is its own. @param {Event} click */
export function onControl(click) {
  return Boolean(/** @type {Element} */ (click.target).closest(CONTROLS)) || String(getSelection()) !== ""
}

/**
 * The focus stays in the list when what had it is gone: on a row, or on what the list says of itself. That may take a
 * moment to be there; whoever took the focus meanwhile keeps it.
 * @param {number | null} [id] @param {number} [tries]
 */
export function focusList(id = null, tries = FRAMES) {
  setTimeout(() => {
    const row = /** @type {HTMLElement | null} */ (document.querySelector(`[data-id="${id}"] [data-row]`))
    const sum = /** @type {HTMLElement | null} */ (document.querySelector(".list-sum"))
    const found = row ?? sum
    found?.focus()
    if (tries && document.activeElement === document.body) focusList(id, tries - 1)
  }, FRAME_MS)
}
