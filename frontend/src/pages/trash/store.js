import { extend } from "../../shared/stores/list.js"
import { pagedList } from "../../shared/stores/paged-list.js"
import { t } from "../../shared/texts/index.js"

/**
 * Deleted memories, until they are restored or deleted permanently.
 * @param {{api: Api, confirm: any, toasts: any, journal: any, later?: any, now?: () => number}} dependencies
 */
export function trash({ api, confirm, toasts, journal, later, now }) {
  return extend(pagedList({ api, path: "/trash", later, now }), {
    busy: false,

    visit() {
      return this.enter()
    },

    /** @param {DeletedMemory} row */
    async restore({ id }) {
      if (!(await this.act(() => api.post(`/trash/${id}/restore`, {})))) return false
      toasts.show(t("trash.restored", { id: String(id) }), { undo: journal.undoing() })
      return true
    },

    /** @param {DeletedMemory} row */
    async purge({ id, memory }) {
      const confirmed = await confirm.ask({
        title: t("trash.askPurge", { id: String(id) }),
        text: memory?.observation ?? "",
        note: t("trash.purgeNote"),
        verb: t("trash.purgeVerb"),
      })
      if (!confirmed || !(await this.act(() => api.remove(`/trash/${id}`)))) return false
      toasts.show(t("trash.purgedOne", { id: String(id) }))
      return true
    },

    /** @param {() => Promise<unknown>} run */
    async act(run) {
      this.busy = true
      try {
        await run()
        await this.load()
        return true
      } catch (problem) {
        toasts.show(t("trash.notDone", { why: /** @type {Error} */ (problem).message }), { bad: true })
        return false
      } finally {
        this.busy = false
      }
    },
  })
}
