import { focusOn } from "../../shared/browser/focus.js"
import { t } from "../../shared/texts/index.js"

/** Moving through the rows of the visible list. @param {any} stores */
export function listCommands({ router, review, reviews }) {
  const move = (/** @type {number} */ by) => (review?.open ? turn({ router, review, reviews }, by) : step(by))
  return [
    { keys: "/", label: t("app.filter"), when: () => Boolean(filterField()), run: focusField },
    { keys: "j", label: t("app.next_row"), when: hasRows, repeats: true, run: () => move(1) },
    { keys: "k", label: t("app.previous_row"), when: hasRows, repeats: true, run: () => move(-1) },
    { keys: "Enter", label: t("app.open_row"), when: hasRows, run: () => {}, native: true },
    { keys: "Escape", label: t("app.close_panel"), when: () => inPanel(router), run: () => close(router) },
  ]
}

/** The visible rows. @returns {HTMLElement[]} */
function rows() {
  const visibleRows = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("main [data-row]")])
  return visibleRows.filter((row) => row.offsetParent)
}

/**
 * The actions of the row that was selected when the palette opened: its links and buttons.
 * @returns {{label: string, run: () => void}[]}
 */
export function rowActions() {
  const row = document.activeElement?.closest("main :is(li, tr)") ?? document.querySelector("main :is(li, tr).is-open")
  if (!row?.querySelector("[data-row]")) return []
  const controls = /** @type {HTMLElement[]} */ ([...row.querySelectorAll("a[href], button:enabled")])
  return controls
    .filter((el) => el.offsetParent)
    .map((el) => ({
      label: (el.ariaLabel || el.title || (el.textContent ?? "")).trim().replace(/\s+/g, " ").slice(0, 80),
      run: () => el.isConnected && el.click(),
    }))
    .filter(({ label }) => label !== "")
}

function hasRows() {
  return rows().length > 0
}

/** The filter field of the visible list. @returns {HTMLInputElement | null} */
export function filterField() {
  return document.querySelector("main [data-filter]")
}

function focusField() {
  filterField()?.focus()
  filterField()?.select?.()
}

/** @param {number} by */
function step(by) {
  const visibleRows = rows()
  const focused = visibleRows.findIndex(
    (row) => row === document.activeElement || row.closest("tr, li")?.matches(":focus-within"),
  )
  const current = focused < 0 ? visibleRows.findIndex((row) => row.closest(".is-open")) : focused
  visibleRows[Math.min(visibleRows.length - 1, Math.max(0, current + by))]?.focus()
}

/** @param {any} router */
function inPanel({ page, id }) {
  return id !== null && ["memories", "search", "reviews"].includes(page)
}

/** Back to the list, with the focus on the row that was open. @param {any} router */
function close(router) {
  const path = `/${router.page}/${router.id}`
  const row = `a[data-row]:is([href="${path}"], [href^="${path}?"])`
  router.go(router.keeping(`/${router.page}`))
  focusOn(row)
}

/** From one case to the next. @param {{router: any, review: any, reviews: any}} dependencies @param {number} by */
function turn({ router, review, reviews }, by) {
  const id = reviews.beside(review.id, by)
  if (id !== null) router.go(reviews.address(id))
}
