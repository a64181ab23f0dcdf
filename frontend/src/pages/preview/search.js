import { t } from "../../shared/texts/index.js"

const PAUSE_MS = 200
const SHOWN = 8

/** @typedef {{id: number, text: string, included: boolean, state: string, why: string, ways: string[]}} FoundMemory */

/**
 * Finds any memory by text or number, and shows whether the current prompt includes it.
 * @param {{api: Api, later?: (run: () => void, ms: number) => any}} dependencies
 */
export function previewSearch({ api, later = setTimeout }) {
  let lastRequestId = 0
  return {
    q: "",
    rows: /** @type {FoundMemory[]} */ ([]),
    /** A note about the rows. */
    note: "",

    /** @param {string} q @param {import("./store.js").PreviewQuery} query */
    type(q, query) {
      this.q = q
      const requestId = ++lastRequestId
      later(() => requestId === lastRequestId && this.read(query), PAUSE_MS)
    },

    /** @param {import("./store.js").PreviewQuery} query */
    async read({ services, budget, without, as_of }) {
      const requestId = ++lastRequestId
      const q = this.q.trim()
      if (!q) return this.take([], "")
      const number = q.match(/^#?(\d{1,15})$/)?.[1]
      const prompt = { services: services.join(","), budget, exclude: without.join(","), as_of }
      try {
        const page = await api.get("/memories", { ...(number ? { ids: number } : { q }), limit: SHOWN, as_of })
        const placements = await Promise.all(
          page.items.map((/** @type {Memory} */ { id }) => api.get(`/memories/${id}/prompt`, prompt)),
        )
        if (requestId !== lastRequestId) return
        this.take(page.items.map(row(placements)), noteOf(page))
      } catch (problem) {
        if (requestId === lastRequestId) this.take([], /** @type {Error} */ (problem).message)
      }
    },

    /** @param {FoundMemory[]} rows @param {string} note */
    take(rows, note) {
      this.rows = rows
      this.note = note
    },
  }
}

/** @param {any[]} placements */
function row(placements) {
  return (/** @type {Memory} */ { id, title, observation }, /** @type {number} */ at) => {
    const { included, words, ways } = placements[at]
    const state = t(included ? "preview.included" : "preview.notIncluded")
    const text = title ? `${title}: ${observation}` : observation
    return { id, text, included, state, why: words, ways: ways.map((/** @type {{words: string}} */ way) => way.words) }
  }
}

/** @param {{items: unknown[], total: number}} page */
function noteOf({ items, total }) {
  if (!total) return t("preview.noneFound")
  return total > items.length ? t("preview.someFound", { n: items.length, all: total }) : ""
}
