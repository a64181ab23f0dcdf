import { focusAfter, focusOn } from "../../shared/browser/focus.js"
import { timeAgo } from "../../shared/format/format.js"
import { t } from "../../shared/texts/index.js"
import { differs } from "./lines.js"
import { INDEX } from "./store.js"

const SECTIONS = /** @type {const} */ (["services", "projects", "decisions", "contacts", "infrastructure"])
const bytes = new TextEncoder()

/** @param {string} path */
const addressOf = (path) => `/notebook?page=${encodeURIComponent(path)}`

/** @param {(name: string) => any} store */
export function notebookPage(store) {
  const [notebook, router, clock] = ["notebook", "router", "clock"].map(store)
  return {
    chosen: () => router.params.has("page"),
    empty: () => notebook.phase === "ready" && notebook.pages.length === 0,
    unmatched: () => notebook.found?.length === 0,
    off: () => notebook.phase === "ready" && notebook.limit === null,
    back: () => router.go("/notebook"),

    /** The form closes after a save and a cancellation, and its buttons disappear. */
    async save() {
      await notebook.save()
      if (notebook.view !== "edit") focusAfter(() => document.querySelector(".notebook-title"))
    },
    cancel() {
      notebook.cancel()
      focusAfter(() => document.querySelector(".notebook-title"))
    },

    sections: SECTIONS.map((name) => ({ name, title: t(`notebook.${name}`) })),
    /** Whether the form for a new page is open. */
    adding: false,
    section: "services",
    fresh: "",
    add() {
      if (!this.fresh.trim()) return
      router.go(addressOf(notebook.create(this.section, this.fresh)))
      Object.assign(this, { adding: false, fresh: "" })
    },

    /** The pages by section, the index first. */
    groups() {
      const pagesIn = (/** @type {string} */ section) =>
        (notebook.found ?? notebook.pages).filter((/** @type {NotebookPage} */ { path }) =>
          section ? path.startsWith(`${section}/`) : path === INDEX,
        )
      return [
        { name: "index", title: t("notebook.index"), pages: pagesIn("") },
        ...SECTIONS.map((name) => ({ name, title: t(`notebook.${name}`), pages: pagesIn(name) })),
      ].filter(({ pages }) => pages.length > 0)
    },
    /** @param {NotebookPage} page */
    address: ({ path }) => addressOf(path),
    /** @param {NotebookPage} page */
    name: ({ path }) => `${path.slice(path.indexOf("/") + 1)}.md`,
    /** @param {NotebookPage} page */
    current: ({ path }) => (path === notebook.path ? "true" : null),
    /** @param {NotebookPage} page */
    facts: ({ memories, reasons, excerpt }) =>
      excerpt ||
      (reasons.length ? t("notebook.needs_review") : memories ? t("notebook.memories", { n: memories }) : ""),
    /** @param {NotebookPage} page */
    waits: ({ reasons }) => reasons.length > 0,

    title: () => `${notebook.path}.md`,
    written: () =>
      notebook.page?.written_at ? t("notebook.written", { when: timeAgo(notebook.page.written_at, clock.now) }) : "",
    text: () => notebook.page?.text ?? "",
    is: (/** @type {string} */ view) => (notebook.view === view ? "true" : "false"),
    mayEdit: () => notebook.limit !== null,

    /** The size of the index in bytes, as stored or as typed. */
    size: () => bytes.encode(notebook.view === "edit" ? notebook.edited : (notebook.page?.text ?? "")).length,
    share() {
      return notebook.limit ? this.size() / notebook.limit : 0
    },
    over() {
      return this.share() > 1
    },
    /** Reserve the space of the size before the limit is loaded, so that the text below does not move. */
    measured: () => notebook.isIndex && (notebook.limit !== null || notebook.phase === "loading"),
    sizeWords() {
      if (notebook.limit === null) return ""
      const values = { n: this.size(), limit: notebook.limit }
      return t(this.over() ? "notebook.bytes_over" : "notebook.bytes", values)
    },

    same: () => !differs(notebook.changes),
    fileSide: () => notebook.changes.filter((/** @type {{kind: string}} */ { kind }) => kind !== "gone"),
    storedSide: () => notebook.changes.filter((/** @type {{kind: string}} */ { kind }) => kind !== "new"),
    outdated: () => notebook.changedOnDisk && notebook.conflict === null,
    compare() {
      notebook.compare()
      focusOn(".notebook-review h3")
    },
  }
}
