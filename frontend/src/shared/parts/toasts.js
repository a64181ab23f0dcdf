import { t } from "../texts/index.js"

const STAY_MS = 30_000
const GLANCE_MS = 6_000
const APART_MS = 3_000

/** @typedef {{id: number, text: string, bad: boolean, undoable: boolean, verb: string, undo: (() => Promise<void>) | null}} Toast */

/**
 * Messages about completed acts, with an undo for 30 s.
 * @param {{timers?: any}} [dependencies]
 */
export function toasts({ timers = globalThis } = {}) {
  let lastId = 0
  /** @type {Map<string, string>} announcements that wait for the previous one to be read */
  const pending = new Map()
  let speaking = false
  return {
    items: /** @type {Toast[]} */ ([]),
    announced: "",

    /**
     * `verb` is the label of the button instead of Undo.
     * @param {string} text
     * @param {{undo?: () => Promise<void>, bad?: boolean, verb?: string}} [how]
     */
    show(text, { undo, bad = false, verb = "" } = {}) {
      const id = ++lastId
      this.items = [
        ...this.items.slice(-2),
        { id, text, bad, undoable: Boolean(undo), verb: verb || t("app.undo"), undo: undo ?? null },
      ]
      timers.setTimeout(() => this.dismiss(id), undo || bad ? STAY_MS : GLANCE_MS)
    },

    /**
     * For screen readers only: announces a change on the page. At once after a silence, otherwise combined with other
     * announcements within three seconds; of each source only the newest counts.
     * @param {string} text @param {string} [source]
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

    /** Something was undone in another way: remove the newest offer to undo. */
    dropUndo() {
      const toast = this.items.findLast(({ undoable, bad }) => undoable && !bad)
      if (toast) this.dismiss(toast.id)
    },
  }
}
