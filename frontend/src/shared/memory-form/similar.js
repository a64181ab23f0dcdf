import { t } from "../texts/index.js"
import { payload } from "./draft.js"

const PAUSE_MS = 300

/**
 * What we hold already of what somebody is typing. It is a hint: when it cannot be had, nothing is said.
 * @param {{api: Api, later?: (run: () => void, ms: number) => any}} with_
 */
export function similar({ api, later = setTimeout }) {
  let turn = 0
  let asked = ""
  return {
    items: /** @type {Like[]} */ ([]),

    /** What is typed has changed; it is asked about when it has rested. @param {import("./draft.js").MemoryDraft} draft @param {number} [without] */
    follow(draft, without) {
      const { category, service, observation } = payload(draft)
      if (!observation) return this.clear()
      const body = { category, service, observation, ...(without && { without }) }
      if (JSON.stringify(body) === asked) return
      asked = JSON.stringify(body)
      const mine = ++turn
      later(() => mine === turn && this.ask(body), PAUSE_MS)
    },

    /** @param {Record<string, unknown>} body */
    async ask(body) {
      const mine = turn
      const found = await api.post("/memories/similar", body).catch(() => null)
      if (mine === turn) this.items = found?.items ?? []
    },

    clear() {
      turn++
      asked = ""
      this.items = []
    },

    /** @param {Like} like */
    words: ({ memory, label }) => t(`memory.like_${label}`, { id: String(memory.id) }),

    /** One sentence for a screen reader, however many there are. */
    get sentence() {
      return this.items.map((each) => `${this.words(each)}.`).join(" ")
    },
  }
}
