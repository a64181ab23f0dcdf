const STAY_MS = 30_000
const GLANCE_MS = 6_000

/** @typedef {{id: number, text: string, bad: boolean, undoable: boolean, undo: (() => Promise<void>) | null}} Toast */

/**
 * What was done, said once, and for 30 s the way back.
 * @param {{timers?: any}} [with_]
 */
export function toasts({ timers = globalThis } = {}) {
  let last = 0
  return {
    items: /** @type {Toast[]} */ ([]),
    said: "",

    /** @param {string} text @param {{undo?: () => Promise<void>, bad?: boolean}} [how] */
    say(text, { undo, bad = false } = {}) {
      const id = ++last
      this.items = [...this.items.slice(-2), { id, text, bad, undoable: Boolean(undo), undo: undo ?? null }]
      timers.setTimeout(() => this.dismiss(id), undo || bad ? STAY_MS : GLANCE_MS)
    },

    /** For ears only: a summary of what changed on the page. @param {string} text */
    whisper(text) {
      this.said = text
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
        this.say(`That could not be undone. ${/** @type {Error} */ (problem).message}`, { bad: true })
      }
    },

    /** The last thing that can be taken back. */
    undoLast() {
      const toast = this.items.findLast(({ undo }) => undo)
      if (toast) this.undo(toast)
    },
  }
}
