/**
 * Every single-key command of the app, in the order the help shows them.
 * @param {{router: any, writing: any, running: any, toaster: any, review: any, reviews: any, help: () => void}} with_
 * @returns {import("./keys.js").Command[]}
 */
export function commandsOf({ router, writing, running, toaster, review, reviews, help }) {
  const settle = (/** @type {string} */ resolution) => {
    if (router.page === "reviews" && !review.form) review.choose(resolution)
  }
  const move = (/** @type {number} */ by) => (review.open ? turn({ router, review, reviews }, by) : step(by))
  const undo = () => (review.settled ? review.undo() : toaster.undoLast())
  return [
    { keys: "/", label: "filter the list", run: () => focus("[data-filter]") },
    { keys: "j", label: "next row", run: () => move(1) },
    { keys: "k", label: "row before", run: () => move(-1) },
    { keys: "Enter", label: "open the row", run: () => {}, native: true },
    { keys: "Escape", label: "close the panel", run: () => close(router) },
    { keys: "g o", label: "go to the overview", run: () => router.go("/overview") },
    { keys: "g s", label: "go to the sessions", run: () => router.go("/sessions") },
    { keys: "g e", label: "go to the events", run: () => router.go("/events") },
    { keys: "g m", label: "go to the memories", run: () => router.go("/memories") },
    { keys: "g k", label: "go to the cooldowns", run: () => router.go("/cooldowns") },
    { keys: "g r", label: "go to the reviews", run: () => router.go("/reviews") },
    { keys: "a", label: "review: keep the new one", run: () => settle("keep_new") },
    { keys: "d", label: "review: keep the old one", run: () => settle("keep_old") },
    { keys: "c", label: "review: both are true", run: () => settle("both") },
    { keys: "m", label: "review: merge them", run: () => settle("merge") },
    { keys: "s", label: "review: dismiss", run: () => settle("dismiss") },
    { keys: "u", label: "undo the last decision", run: undo },
    { keys: "n", label: "write a memory", run: () => writing.show() },
    { keys: "r", label: "run a session now", run: () => running.show() },
    { keys: "z", label: "undo what was done last", run: undo },
    { keys: "?", label: "these keys", run: help },
  ]
}

/** @param {string} selector */
function focus(selector) {
  const field = /** @type {HTMLInputElement | null} */ (document.querySelector(`main ${selector}`))
  field?.focus()
  field?.select?.()
}

/** @param {number} by */
function step(by) {
  const rows = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("main [data-row]")]).filter(
    (row) => row.offsetParent,
  )
  const here = rows.indexOf(/** @type {HTMLElement} */ (document.activeElement))
  rows[Math.min(rows.length - 1, Math.max(0, here + by))]?.focus()
}

/** @param {any} router */
function close(router) {
  const { page, id } = router
  if (id !== null && (page === "memories" || page === "reviews")) router.go(router.keeping(`/${page}`))
}

/** From one case to the next. @param {{router: any, review: any, reviews: any}} with_ @param {number} by */
function turn({ router, review, reviews }, by) {
  const id = reviews.beside(review.id, by)
  if (id !== null) router.go(reviews.address(id))
}
