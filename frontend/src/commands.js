/**
 * Every single-key command of the app, in the order the help shows them.
 * @param {{router: any, writing: any, running: any, toaster: any, help: () => void}} with_
 * @returns {import("./keys.js").Command[]}
 */
export function commandsOf({ router, writing, running, toaster, help }) {
  return [
    { keys: "/", label: "filter the list", run: () => focus("[data-filter]") },
    { keys: "j", label: "next row", run: () => step(1) },
    { keys: "k", label: "row before", run: () => step(-1) },
    { keys: "Enter", label: "open the row", run: () => {}, native: true },
    { keys: "Escape", label: "close the panel", run: () => close(router) },
    { keys: "g o", label: "go to the overview", run: () => router.go("/overview") },
    { keys: "g s", label: "go to the sessions", run: () => router.go("/sessions") },
    { keys: "g e", label: "go to the events", run: () => router.go("/events") },
    { keys: "g m", label: "go to the memories", run: () => router.go("/memories") },
    { keys: "g k", label: "go to the cooldowns", run: () => router.go("/cooldowns") },
    { keys: "n", label: "write a memory", run: () => writing.show() },
    { keys: "r", label: "run a session now", run: () => running.show() },
    { keys: "z", label: "undo the last deletion", run: () => toaster.undoLast() },
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
  if (router.page === "memories" && router.id !== null) router.go(router.keeping("/memories"))
}
