import { t } from "../texts/index.js"

/**
 * Queued requests for sessions.
 * @param {{api: Api, feed: Feed}} dependencies
 */
export function requests({ api, feed }) {
  return {
    loaded: false,
    queued: /** @type {RunRequest[]} */ ([]),

    async load() {
      const page = await api.get("/requests", { state: "queued" }).catch(() => null)
      this.loaded = true
      if (!page) return
      this.queued = page.items
      feed.replay(page.seq, "request", this.follow.bind(this))
      feed.read(page.seq)
    },

    /** @param {Change} change */
    follow({ op, id, row }) {
      const existing = this.queued.find((request) => request.id === id)
      if (existing && row && existing.version >= row.version) return
      const otherRequests = this.queued.filter((request) => request.id !== id)
      const isQueued = op !== "deleted" && row?.state === "queued"
      this.queued = isQueued ? [...otherRequests, row].sort((a, b) => a.id - b.id) : otherRequests
    },

    get words() {
      return t("sessions.queued", { n: this.queued.length })
    },

    get label() {
      return t("sessions.requests", { n: this.queued.length })
    },

    /** @param {{tier: number, services: string[], prompt: string, dry_run: boolean, engine?: string}} request */
    async ask({ tier, services, prompt, dry_run, engine }) {
      const body = {
        tier: Number(tier),
        dry_run,
        ...(services.length ? { services } : {}),
        ...(prompt.trim() ? { prompt: prompt.trim() } : {}),
        ...(engine ? { engine } : {}),
      }
      const row = await api.post("/sessions", body)
      this.follow({ seq: 0, entity: "request", op: "created", id: row.id, version: row.version, row })
      return row
    },

    /** @param {number} id */
    async cancel(id) {
      await api.remove(`/requests/${id}`)
      this.queued = this.queued.filter((request) => request.id !== id)
    },
  }
}
