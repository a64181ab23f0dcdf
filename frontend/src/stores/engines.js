/**
 * Who can run a session, and what a session may take.
 * @param {{api: Api}} with_
 */
export function engines({ api }) {
  return {
    items: /** @type {{name: string, usual: boolean, problem: string | null}[]} */ ([]),
    maxTier: 3,
    seconds: 0,
    /** How many turns a session of a model may take. */
    turns: 0,

    async load() {
      const found = await api.get("/engines").catch(() => null)
      if (!found) return
      this.items = found.engines
      this.maxTier = found.max_tier
      this.seconds = found.session_seconds
      this.turns = found.max_turns ?? 0
    },

    /** The one that runs a session unless another is asked for. */
    get usual() {
      return this.items.find(({ usual }) => usual)?.name ?? ""
    },
  }
}
