import { PAGE_LIMIT } from "../../../generated/values.js"

const NOTHING = {
  said: { total: 0, sessions: 0, items: [] },
  told: { total: 0, items: [] },
  partners: [],
  outcomes: null,
  /** @type {string | null} */
  page: null,
}

/**
 * The evidence of a memory: its reports, the sessions that included it, and its contradictions.
 * @param {{api: Api}} dependencies
 */
export function evidence({ api }) {
  return {
    /** @type {Evidence} */
    ...structuredClone(NOTHING),
    phase: "closed",

    clear() {
      Object.assign(this, structuredClone(NOTHING), { phase: "loading" })
    },

    /**
     * Optional: if the evidence cannot be loaded, the memory is shown without it.
     * @param {number} id @param {() => boolean} isCurrent whether the memory is still shown @param {number} [limit]
     */
    async load(id, isCurrent, limit) {
      const response = await api.get(`/memories/${id}/evidence`, { limit }).catch(() => null)
      if (!isCurrent()) return
      if (response) Object.assign(this, response)
      this.phase = response ? "ready" : "failed"
    },

    /** Load the earlier entries as well. @param {number} id @param {() => boolean} isCurrent */
    more(id, isCurrent) {
      return this.load(id, isCurrent, PAGE_LIMIT)
    },
  }
}
