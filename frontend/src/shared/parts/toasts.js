import { t } from "../texts/index.js"

const STAY_MS = 30_000
const GLANCE_MS = 6_000
const APART_MS = 3_000

/** @typedef {{id: number, text: string, bad: boolean, undoable: boolean, verb: string, undo: (() => Promise<void>) | null}} Toast */

/**
 * What was done, said once, and for 30 s the way back.
 * @param {{timers?: any}} [with_]
 */
export function toasts({ timers = globalThis } = {}) {
  let last = 0
  /** @type {Map<string, string>} what is to be said when the last words were heard */
  const pending = new Map()
  let speaking = false
  return {
    items: /** @type {Toast[]} */ ([]),
    announced: "",

    /** `verb` is what the button says in place of Undo. @param {string} text @param {{undo?: () => Promise<void>, bad?: boolean, verb?: string}} [how] */
    show(text, { undo, bad = false, verb = "" } = {}) {
      const id = ++last
      this.items = [
        ...this.items.slice(-2),
        { id, text, bad, undoable: Boolean(undo), verb: verb || t("app.undo"), undo: undo ?? null },
      ]
      timers.setTimeout(() => this.dismiss(id), undo || bad ? STAY_MS : GLANCE_MS)
    },

    /**
     * For ears only: what changed on the page. At once after a silence, else folded with what else comes within three
     * seconds; of one source only the newest counts. @param {string} text @param {string} [source]
     */
    announce(text, source = "") {
      pending.set(source, text)
      if (!speaking) this.speak()
    },

    speak() {
      speaking = pending.size > 0
      if (!speaking) return
      this.announced = [...pending.values()].join(". ").replaceAll("..", ".")
      pending.clear()
      timers.setTimeout(() => this.speak(), APART_MS)
    },

    /** @param {number} id */
    dismiss(id) {
      this.items = this.items.filter((toast) => toast.id !== id)
    },

    /** @param {Toast} toast */
    async undo({ id, undo }) {
      this.dismiss(id)
      try {
        await undo?.()
      } catch (problem) {
        this.show(t("app.not_undone", { why: /** @type {Error} */ (problem).message }), { bad: true })
      }
    },

    /** It is undone by another way: the newest offer to undo goes. */
    dropUndo() {
      const toast = this.items.findLast(({ undoable, bad }) => undoable && !bad)
      if (toast) this.dismiss(toast.id)
    },
  }
}
