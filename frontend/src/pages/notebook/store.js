import { sequence } from "../../shared/browser/sequence.js"
import { throttle } from "../../shared/browser/throttle.js"
import { momentOf, timeAgo } from "../../shared/format/format.js"
import { t } from "../../shared/texts/index.js"
import { combined, joined, lineDiff, split } from "./lines.js"

export const INDEX = "MEMORY"

/** @typedef {{text: string, digest: string}} Version a text, and the digest of its file */

/**
 * The pages of the notebook, one of them to read and edit, and its changes.
 * @param {{api: Api, confirm: any, toasts: any, drafts: any, later?: any, now?: () => number}} dependencies
 */
export function notebook({ api, confirm, toasts, drafts, later, now = Date.now }) {
  let lastRequestId = 0
  const request = sequence()
  /** @type {() => void} */
  let reloadSoon = () => {}
  return {
    here: false,
    phase: "loading",
    problem: "",
    pages: /** @type {NotebookPage[]} */ ([]),
    q: "",
    /** The pages that contain all words of the query; null without a query. */
    found: /** @type {NotebookPage[] | null} */ (null),
    /** The maximum size of the index in bytes; null if the notebook is turned off. */
    limit: /** @type {number | null} */ (null),
    path: INDEX,
    /** A new page, which has no file until it is saved. */
    begun: "",
    page: /** @type {NotebookText | null} */ (null),
    pageProblem: "",
    view: "read",
    /** The typed text, and the version that it was begun on. */
    draft: "",
    base: /** @type {Version | null} */ (null),
    draftNote: "",
    /** The version on disk, if it differs from the edited one. */
    conflict: /** @type {Version | null} */ (null),
    busy: false,

    /** @param {URLSearchParams} params */
    visit(params) {
      const path = params.get("page") ?? INDEX
      if (path !== this.path || !this.here)
        Object.assign(this, { path, page: null, pageProblem: "", view: "read", base: null, conflict: null })
      if (!this.here) {
        this.here = true
        reloadSoon = throttle(() => this.here && this.reload(), { later, now })
      }
      return this.reload()
    },

    exit() {
      this.here = false
    },

    follow() {
      if (this.here) reloadSoon()
    },

    reload() {
      const listPromise = this.load()
      return Promise.all([listPromise, this.read(listPromise), this.find(this.q)])
    },

    /** @param {string} text */
    async find(text) {
      this.q = text.trim()
      const query = this.q
      if (!query) return void (this.found = null)
      try {
        const { pages } = await api.get("/notebook", { q: query })
        if (query === this.q) this.found = pages
      } catch (problem) {
        this.problem = /** @type {Error} */ (problem).message
      }
    },

    async load() {
      const current = request()
      try {
        const { pages, index_limit: limit } = await api.get("/notebook")
        if (!current()) return
        Object.assign(this, { pages, limit, phase: "ready", problem: "" })
      } catch (problem) {
        if (!current()) return
        this.problem = /** @type {Error} */ (problem).message
        if (!this.pages.length) this.phase = "failed"
      }
    },

    /** @param {Promise<void>} [listPromise] */
    async read(listPromise) {
      if (this.path === this.begun) return
      const requestId = ++lastRequestId
      try {
        const page = await api.get(addressOf(this.path))
        if (this.phase === "loading") await listPromise // the list holds the reason that the page needs a review
        if (requestId !== lastRequestId) return
        Object.assign(this, { page, pageProblem: "" })
        this.followPage()
      } catch (problem) {
        if (requestId !== lastRequestId) return
        const { status, message } = /** @type {import("../../shared/api.js").Problem} */ (problem)
        this.pageProblem = message
        if (status === 404 && this.base === null) this.page = null
      }
    },

    /** The editor follows a page that was saved elsewhere; unsaved text of one's own stays. */
    followPage() {
      const { page, base, busy } = this
      if (!page || !base || busy || page.digest === base.digest) return
      const version = { text: page.text, digest: page.digest }
      const now = this.typeable(page.text)
      if (this.conflict) this.conflict = version
      else if (!this.dirty || this.draft === now) this.restart(version)
      else if (this.typeable(base.text) === now) this.base = version
      if (this.dirty) this.type(this.draft) // the draft of another tab replaced or dropped it
    },

    /** Edit another version of the page, in which nothing was typed yet. @param {Version} version */
    restart(version) {
      this.drop()
      Object.assign(this, { base: version, draft: this.typeable(version.text) })
    },

    /** Begin a page, or open the existing one. @param {string} section @param {string} name */
    create(section, name) {
      const title = name.trim().replace(/\.md$/u, "")
      const path = `${section}/${title}`
      if (this.pages.some((page) => page.path === path)) return path
      const page = { path, text: "", digest: "", stored: "", previous: "", written_at: null }
      Object.assign(this, { path, page, begun: path, pageProblem: "", base: null, conflict: null })
      this.show("edit")
      if (!this.draft) this.type(`# ${title}\n\n- `)
      return path
    },

    /** The pages that need a review. */
    get waiting() {
      return this.pages.filter(({ reasons }) => reasons.length > 0)
    },

    /** The reasons that this page needs a review. */
    get reasons() {
      return this.pages.find(({ path }) => path === this.path)?.reasons ?? []
    },

    get isIndex() {
      return this.path === INDEX
    },

    /** The page with the text in the editor. */
    get edited() {
      return this.isIndex && this.base ? joined(split(this.base.text).head, this.draft) : this.draft
    },

    /** The part of a text that can be edited. @param {string} text */
    typeable(text) {
      return this.isIndex ? split(text).notes : text
    },

    /** Whether there is unsaved text. */
    get dirty() {
      return this.base !== null && this.draft !== this.typeable(this.base.text)
    },

    /** Whether the file changed during the edit. */
    get changedOnDisk() {
      return this.dirty && !this.busy && this.page !== null && this.page.digest !== this.base?.digest
    },

    /** Show the unsaved text next to the version on disk. */
    compare() {
      if (this.page) this.conflict = { text: this.page.text, digest: this.page.digest }
    },

    /** @param {"read" | "edit" | "changes"} view */
    show(view) {
      this.view = view
      if (view === "edit" && this.base === null) this.begin()
    },

    begin() {
      if (!this.page) return
      const { text, digest } = this.page
      const savedDraft = drafts.of(`${this.path}|`)
      this.base = savedDraft?.base ?? { text, digest }
      this.draft = savedDraft?.draft ?? this.typeable(text)
      this.draftNote = savedDraft ? t("notebook.draft", { at: momentOf(savedDraft.at) }) : ""
      this.conflict = null
      this.followPage()
    },

    /** @param {string} text */
    type(text) {
      this.draft = text
      drafts.keep(`${this.path}|`, { version: 0, base: this.base, draft: text })
    },

    cancel() {
      this.drop()
      this.view = "read"
    },

    /** A draft of another tab stays in the browser. */
    drop() {
      const key = `${this.path}|`
      if (drafts.of(key)?.draft === this.draft) drafts.drop(key, 0)
      Object.assign(this, { base: null, conflict: null, draft: "", draftNote: "" })
    },

    async save() {
      const { base, path, edited } = this
      if (!base || this.busy) return
      this.busy = true
      try {
        const made = await api.put(addressOf(path), { text: edited }, base.digest)
        if (this.path !== path) return
        this.begun = ""
        this.drop()
        this.view = "read"
        toasts.show(savedWords(made, path))
        await this.reload()
      } catch (problem) {
        await this.refuse(/** @type {any} */ (problem))
      } finally {
        this.busy = false
      }
    },

    /**
     * The file has changed: show both versions. Only the notes of the index can be edited.
     * @param {import("../../shared/api.js").Problem} problem
     */
    async refuse({ status, message, current }) {
      if (status !== 412 || !current) return toasts.show(t("notebook.not_saved", { why: message }), { bad: true })
      const diskVersion = { text: current.text, digest: current.digest }
      const isSameNotes = this.isIndex && this.base && this.typeable(diskVersion.text) === this.typeable(this.base.text)
      if (!isSameNotes) {
        this.conflict = diskVersion
        return
      }
      this.base = diskVersion
      this.busy = false
      await this.save()
    },

    /** Both versions of a conflict, line by line. */
    get sides() {
      const { conflict } = this
      if (!conflict) return { disk: [], mine: [] }
      const parts = lineDiff(this.typeable(conflict.text), this.draft)
      return { disk: parts.filter(({ kind }) => kind !== "new"), mine: parts.filter(({ kind }) => kind !== "gone") }
    },

    keepMine() {
      this.base = this.conflict
      this.conflict = null
      return this.save()
    },

    combine() {
      const { conflict, base } = this
      if (!conflict || !base) return
      this.base = conflict
      this.conflict = null
      this.type(combined(this.typeable(base.text), this.draft, this.typeable(conflict.text)))
      this.draftNote = t("notebook.combined")
    },

    useDisk() {
      this.drop()
      this.view = "read"
      return this.reload()
    },

    /** The differences: of the file under review, or of the last write. */
    get changes() {
      const { page } = this
      if (!page) return []
      return page.stored === page.text ? lineDiff(page.previous, page.text) : lineDiff(page.stored, page.text)
    },

    get changesNote() {
      const { page } = this
      if (!page) return ""
      if (page.stored !== page.text) return t("notebook.unread")
      return page.written_at ? t("notebook.last_write", { when: timeAgo(page.written_at, now()) }) : ""
    },

    accept() {
      return this.resolve("accept")
    },

    async discard() {
      const confirmed = await confirm.ask({
        title: t("notebook.ask_discard", { path: `${this.path}.md` }),
        note: t("notebook.ask_discard_note"),
        verb: t("notebook.discard_verb"),
      })
      if (confirmed) await this.resolve("discard")
    },

    /** @param {"accept" | "discard"} resolution */
    async resolve(resolution) {
      this.busy = true
      try {
        await api.put("/notebook", { resolution, pages: [this.path] })
        toasts.show(t(resolution === "accept" ? "notebook.accepted" : "notebook.discarded"))
      } catch (problem) {
        toasts.show(t("notebook.not_resolved", { why: /** @type {Error} */ (problem).message }), { bad: true })
      } finally {
        this.busy = false
        await this.reload()
      }
    },
  }
}

/** @param {string} path */
function addressOf(path) {
  return `/notebook/${path.split("/").map(encodeURIComponent).join("/")}`
}

/** @param {{edits: number, for_review: Record<string, string[]>}} made @param {string} path */
function savedWords({ edits, for_review: reviewReasons }, path) {
  if (reviewReasons[path]) return t("notebook.saved_review", { why: reviewReasons[path].join(" ") })
  return edits ? t("notebook.saved", { n: edits }) : t("notebook.saved_none")
}
