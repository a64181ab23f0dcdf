import { count } from "../format.js"

/**
 * What an operator does to memories beyond editing one: delete with a way back, and many at a time.
 * @param {{api: Api, memories: any, confirm: any, toasts: any}} with_
 */
export function curate({ api, memories, confirm, toasts }) {
  return {
    /** @param {Memory} memory @returns {Promise<boolean>} */
    async remove(memory) {
      const yes = await confirm.ask({
        title: "Delete this memory?",
        text: memory.observation,
        note: "No session will read it again. You can undo this for half a minute.",
        verb: "Delete",
      })
      return yes && tell(() => this.removeNow([memory], () => api.remove(`/memories/${memory.id}`)))
    },

    /** @param {Memory[]} rows @returns {Promise<boolean>} */
    async removeMany(rows) {
      const yes = await confirm.ask({
        title: `Delete ${count(rows.length, "memory", "memories")}?`,
        note: "No session will read them again. You can undo this for half a minute.",
        verb: "Delete",
      })
      const ids = rows.map(({ id }) => id)
      return yes && tell(() => this.removeNow(rows, () => api.post("/memories/bulk", { ids, action: "delete" })))
    },

    /** @param {Memory[]} rows @param {() => Promise<unknown>} send */
    async removeNow(rows, send) {
      await send()
      rows.forEach(({ id }) => memories.drop(id, { own: true }))
      memories.chosen = {}
      memories.tallySoon()
      const text = rows.length === 1 ? "The memory is deleted." : `${count(rows.length, "memory", "memories")} deleted.`
      toasts.say(text, { undo: () => restore(rows) })
    },

    /** @param {Memory[]} rows @param {number} value @returns {Promise<boolean>} */
    async setMany(rows, value) {
      const ids = rows.map(({ id }) => id)
      return tell(async () => {
        const { changed } = await api.post("/memories/bulk", { ids, action: "confidence", value })
        memories.chosen = {}
        toasts.say(`${count(changed, "memory", "memories")} set to ${value.toFixed(2)}.`, {
          undo: () => resetEach(rows),
        })
      })
    },
  }

  /** @param {() => Promise<unknown>} act */
  async function tell(act) {
    try {
      await act()
      return true
    } catch (problem) {
      toasts.say(`Nothing was changed. ${/** @type {Error} */ (problem).message}`, { bad: true })
      return false
    }
  }

  /** @param {Memory[]} rows */
  async function restore(rows) {
    for (const { category, observation, service, confidence, title, tags } of rows) {
      memories.put(await api.post("/memories", { category, observation, service, confidence, title, tags }), {
        own: true,
      })
    }
    toasts.say(rows.length === 1 ? "The memory is back." : `${count(rows.length, "memory", "memories")} are back.`)
  }

  /** @param {Memory[]} rows */
  async function resetEach(rows) {
    for (const { id, confidence } of rows)
      memories.put(await api.patch(`/memories/${id}`, { confidence }), { own: true })
    toasts.say("The confidences are as they were.")
  }
}
