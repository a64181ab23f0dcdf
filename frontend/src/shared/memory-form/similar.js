import { t } from "../texts/index.js"
import { payload } from "./draft.js"

const PAUSE_MS = 300

/**
 * Stored memories similar to the text being typed. They are a hint: if they cannot be loaded, nothing is shown.
 * @param {{api: Api, later?: (run: () => void, ms: number) => any}} dependencies
 */
export function similar({ api, later = setTimeout }) {
  let lastRequestId = 0
  let lastBody = ""
  return {
    items: /** @type {SimilarMemory[]} */ ([]),

    /**
     * The text changed: request similar memories when typing pauses.
     * @param {import("./draft.js").MemoryDraft} draft
     * @param {number} [without]
     */
    follow(draft, without) {
      const { category, service, observation } = payload(draft)
      if (!observation) return this.clear()
      const body = { category, service, observation, ...(without && { without }) }
      if (JSON.stringify(body) === lastBody) return
      lastBody = JSON.stringify(body)
      const requestId = ++lastRequestId
      later(() => requestId === lastRequestId && this.ask(body), PAUSE_MS)
    },

    /** @param {Record<string, unknown>} body */
    async ask(body) {
      const requestId = lastRequestId
      const response = await api.post("/memories/similar", body).catch(() => null)
      if (requestId === lastRequestId) this.items = response?.items ?? []
    },

    clear() {
      lastRequestId++
      lastBody = ""
      this.items = []
    },

    /** @param {SimilarMemory} like */
    words: ({ memory, label }) => t(`memory.like_${label}`, { id: String(memory.id) }),

    /** One sentence for a screen reader, for any number of memories. */
    get sentence() {
      return this.items.map((item) => `${this.words(item)}.`).join(" ")
    },
  }
}
