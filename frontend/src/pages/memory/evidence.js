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
 * What a memory rests on: who said it, who was told it, what contradicts it.
 * @param {{api: Api}} with_
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
     * It is beside the point when it cannot be had: the memory is there all the same.
     * @param {number} id @param {() => boolean} still whether it is still asked for @param {number} [limit]
     */
    async load(id, still, limit) {
      const found = await api.get(`/memories/${id}/evidence`, { limit }).catch(() => null)
      if (!still()) return
      if (found) Object.assign(this, found)
      this.phase = found ? "ready" : "failed"
    },

    /** The earlier ones too. @param {number} id @param {() => boolean} still */
    more(id, still) {
      return this.load(id, still, PAGE_LIMIT)
    },
  }
}
