import { box } from "./page.js"
import { t } from "../../shared/texts/index.js"

const TRIES = 40
const FRAME_MS = 50

/** Keys of the search page. @param {Record<string, any>} stores */
export function searchCommands({ router, search, memory }) {
  const onPage = () => router.page === "search"
  return [
    {
      keys: "w",
      label: t("search.doWhy"),
      when: () => onPage() && Boolean(hit()),
      run: () => search.explain(hit()?.dataset.key),
    },
    {
      keys: "e",
      label: t("search.doEdit"),
      when: () => onPage() && (Boolean(hit()?.dataset.id) || memory.open),
      run: edit,
    },
    { keys: "Escape", label: t("search.doBox"), when: () => onPage() && router.id === null, run: toBox },
    { label: t("search.doEvents"), when: onPage, run: () => search.toggle("event") },
    { label: t("search.doClear"), when: () => onPage() && search.filtered, run: () => search.clear() },
  ]

  function edit() {
    const id = hit()?.dataset.id
    if (id) router.go(router.keeping(`/search/${id}`))
    focusText()
  }

  /** Focus the text field once its panel is rendered, unless the focus moved meanwhile. */
  function focusText(attempts = TRIES) {
    setTimeout(() => {
      const text = /** @type {HTMLElement | null} */ (document.querySelector(".panel textarea"))
      if (text?.offsetParent) text.focus()
      else if (attempts) focusText(attempts - 1)
    }, FRAME_MS)
  }
}

/** The focused hit. @returns {HTMLElement | null} */
function hit() {
  return document.activeElement?.closest("li.hit") ?? null
}

function toBox() {
  box()?.focus()
  box()?.select()
}
