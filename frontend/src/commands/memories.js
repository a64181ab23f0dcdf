import { t } from "../texts.js"

/** What is done to the memory whose row has the focus, or that stands in the panel. @param {any} stores */
export function memoriesCommands({ router, memory, memories }) {
  const here = () => router.page === "memories" && !memories.past
  return [
    { keys: "x", label: t("hands.choose_row"), when: () => here() && Boolean(box()), run: () => box()?.click() },
    { keys: "e", label: t("hands.edit_memory"), when: () => here() && (memory.open || Boolean(row())), run: edit },
    {
      keys: "Space",
      label: t("hands.peek_memory"),
      when: () => router.page === "memories" && Boolean(row()),
      run: () => row()?.click(),
    },
  ]

  /** Open the panel if need be, and put the cursor into its text. */
  function edit() {
    if (row()) row()?.click()
    const deadline = performance.now() + 2_000
    requestAnimationFrame(function look() {
      const text = /** @type {HTMLElement | null} */ (document.querySelector(".panel textarea"))
      if (text) text.focus()
      else if (performance.now() < deadline) requestAnimationFrame(look)
    })
  }
}

/** The link of the row that has the focus. @returns {HTMLElement | null | undefined} */
function row() {
  return document.activeElement?.closest("main tr")?.querySelector("[data-row]")
}

/** @returns {HTMLElement | null | undefined} */
function box() {
  return document.activeElement?.closest("main tr")?.querySelector("input[type=checkbox]:not(:disabled)")
}
