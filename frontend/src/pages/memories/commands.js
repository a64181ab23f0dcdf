import { t } from "../../shared/texts/index.js"

const STEP = 0.05

/** Keys for the focused row of the list. @param {any} stores */
export function memoriesCommands({ router, memory, memories, rowEdit, curate }) {
  const row = () => rowOf(memories, document.activeElement)
  const when = () => router.page === "memories" && !memories.historical && Boolean(row())
  const edit = (/** @type {string} */ field) => {
    rowEdit.start({ ...row() })
    // focus before the next key press, which would otherwise be taken for a command
    queueMicrotask(() => focusField(field) || setTimeout(() => focusField(field)))
  }
  return [
    { keys: "e", label: t("memories.keyEdit"), when, run: () => edit("observation") },
    {
      keys: "e",
      label: t("app.edit_memory"),
      when: () => router.page === "memories" && !memories.historical && memory.open && !row(),
      run: () => panelText()?.focus(),
    },
    {
      keys: "c",
      label: t("app.confirm_memory"),
      when: () => router.page === "memories" && !memories.historical && Boolean(row() ?? memory.row),
      run: () => curate.confirm({ ...(row() ?? memory.row) }),
    },
    {
      keys: "Space",
      label: t("app.peek_memory"),
      when: () => router.page === "memories" && Boolean(row()),
      run: () => router.go(router.keeping(`/memories/${row().id}`)),
    },
    { keys: "+", label: t("memories.keyRaise"), when, repeats: true, run: () => rowEdit.step(row(), STEP) },
    { keys: "-", label: t("memories.keyLower"), when, repeats: true, run: () => rowEdit.step(row(), -STEP) },
    {
      keys: "x",
      label: t("memories.keySelect"),
      when,
      run: () => memories.choose(row().id, !memories.chosen[row().id]),
    },
    { keys: "X", label: t("memories.keyRange"), when, run: () => memories.chooseTo(row().id) },
  ]
}

/** The memory whose row contains an element. @param {any} memories @param {Element | null} el */
export function rowOf(memories, el) {
  const id = Number(/** @type {HTMLElement | null} */ (el?.closest("tr[data-id]"))?.dataset.id)
  return memories.rows.find((/** @type {Memory} */ item) => item.id === id)
}

/** @param {string} field */
export function focusField(field) {
  const el = /** @type {HTMLInputElement | null} */ (document.querySelector(`[data-edit="${field}"]`))
  el?.focus()
  if (field !== "category") el?.select()
  return Boolean(el)
}

/** @returns {HTMLElement | null} */
function panelText() {
  return document.querySelector(".panel textarea")
}
