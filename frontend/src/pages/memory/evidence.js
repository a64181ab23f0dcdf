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
     * @param {number} id @param {() => boolean} still whether the memory is still shown @param {number} [limit]
     */
    async load(id, still, limit) {
      const found = await api.get(`/memories/${id}/evidence`, { limit }).catch(() => null)
      if (!still()) return
      if (found) Object.assign(this, found)
      this.phase = found ? "ready" : "failed"
    },

    /** Load the earlier entries as well. @param {number} id @param {() => boolean} still */
    more(id, still) {
      return this.load(id, still, PAGE_LIMIT)
    },
  }
}
