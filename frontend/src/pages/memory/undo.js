import { t } from "../../shared/texts/index.js"

/**
 * Reverts one step of a memory's history.
 * @param {{api: Api, memory: any, toasts: any, journal: any}} dependencies
 */
export function steps({ api, memory, toasts, journal }) {
  return {
    busy: false,
    /** The step that could not be undone, and the reason. */
    refused: /** @type {number | null} */ (null),
    problem: "",

    /** @param {HistoryEntry} entry @param {number} [id] the memory */
    async undo(entry, id = memory.id) {
      this.busy = true
      this.clear()
      try {
        await revert(id, entry.id)
        toasts.show(t("memory.reverted_done"), { undo: journal.undoing() })
      } catch (problem) {
        this.refused = entry.id
        this.problem = t("memory.not_reverted", { why: /** @type {Error} */ (problem).message })
      } finally {
        this.busy = false
      }
    },

    clear() {
      this.refused = null
      this.problem = ""
    },
  }

  /** @param {number} id @param {number} entry */
  async function revert(id, entry) {
    await memory.accept(await api.post(`/memories/${id}/history/${entry}/undo`))
  }
}
