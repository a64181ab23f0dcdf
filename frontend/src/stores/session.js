import { newestFirst } from "./events.js"

const READ_AGAIN_MS = 1_000
const NO_PROMPT = { system: "", injected: "", prompt: "", tokens: 0, budget: 0, memories: [] }

/** The outcome of a marker in words. @param {Marker} marker */
export function outcomeWords({ state, outcome, reason }) {
  if (state === "taken") return outcome
  return reason ? `${state}: ${reason}` : state
}

/**
 * One session: what it is, prints, marks and was told; the same while it runs and after.
 * @param {{api: Api, feed: Feed, log: any, chain: any, timers?: any}} with_
 */
export function session({ api, feed, log, chain, timers = globalThis }) {
  return {
    id: /** @type {number | null} */ (null),
    row: /** @type {Session | null} */ (null),
    markers: /** @type {Marker[]} */ ([]),
    events: /** @type {OpsEvent[]} */ ([]),
    told: /** @type {any} */ (NO_PROMPT),
    toldPhase: "loading",
    phase: "closed",
    problem: "",
    part: "output",
    timer: /** @type {any} */ (null),

    get running() {
      return this.row?.status === "running"
    },

    /** @param {number} id @param {string} part */
    visit(id, part) {
      this.part = ["told", "events"].includes(part) ? part : "output"
      if (id !== this.id) this.open(id)
    },

    /** @param {number} id */
    open(id) {
      this.id = id
      Object.assign(this, {
        row: null,
        markers: [],
        events: [],
        told: NO_PROMPT,
        toldPhase: "loading",
        phase: "loading",
        problem: "",
      })
      log.open(id)
      this.load(id)
      this.keepReading()
    },

    leave() {
      this.id = null
      chain.leave()
      timers.clearTimeout(this.timer)
    },

    /** @param {number} id */
    async load(id) {
      try {
        const [row] = await Promise.all([api.get(`/sessions/${id}`), chain.open(id)])
        if (this.id !== id) return
        this.take(row)
        this.phase = "ready"
      } catch (problem) {
        if (this.id === id) this.fail(/** @type {any} */ (problem))
      }
      await Promise.all([this.loadMarkers(id), this.loadEvents(id), this.loadPrompt(id)])
    },

    reload() {
      if (this.id !== null) this.load(this.id)
    },

    /** @param {{status: number, message: string}} problem */
    fail(problem) {
      this.phase = problem.status === 404 ? "missing" : "failed"
      this.problem = problem.message
    },

    /** @param {Session} row */
    take(row) {
      if (!this.row || this.row.id !== row.id || this.row.version < row.version) this.row = row
    },

    /** @param {number} id */
    async loadMarkers(id) {
      const page = await api.all(`/sessions/${id}/markers`).catch(() => null)
      if (!page || this.id !== id) return
      this.markers = page.items
      feed.replay(page.seq, "marker", this.followMarker.bind(this))
      feed.read(page.seq)
    },

    /** @param {number} id */
    async loadEvents(id) {
      const page = await api.get("/events", { session: id, limit: 200 }).catch(() => null)
      if (!page || this.id !== id) return
      this.events = page.items
      feed.replay(page.seq, "event", this.followEvent.bind(this))
    },

    /** @param {number} id */
    async loadPrompt(id) {
      const told = await api.get(`/sessions/${id}/prompt`).catch(() => null)
      if (this.id !== id) return
      this.told = told ?? NO_PROMPT
      this.toldPhase = told ? "ready" : "failed"
    },

    /** The output is a file: a look at it each second while the session runs, and at once when something tells of it. */
    keepReading() {
      timers.clearTimeout(this.timer)
      if (this.id === null) return
      if (this.running || this.phase === "loading" || !log.complete) this.readOn()
      this.timer = timers.setTimeout(() => this.keepReading(), READ_AGAIN_MS)
    },

    readOn() {
      if (this.id !== null && this.phase === "ready") log.read(this.id)
    },

    /** @param {Change} change */
    follow({ id, row }) {
      if (id !== this.id || !row) return
      this.take(row)
      this.readOn()
    },

    /** @param {Change} change */
    followMarker({ row }) {
      if (!row || row.session_id !== this.id) return
      this.markers = kept(this.markers, row)
      this.readOn()
    },

    /** @param {Change} change */
    followEvent({ op, id, row }) {
      if (op === "deleted") this.events = this.events.filter((event) => event.id !== id)
      else if (row && row.session_id === this.id) this.events = kept(this.events, row).sort(newestFirst)
    },

    async stop() {
      if (this.id !== null) this.take(await api.post(`/sessions/${this.id}/stop`))
    },

    /** @param {Marker} marker */
    async takeMarker(marker) {
      this.markers = kept(this.markers, await api.put(`/markers/${marker.id}/taken`))
    },

    get notes() {
      return [...this.markers].reverse()
    },
  }
}

/** The row in its place, the newer version only. @template {Row} T @param {T[]} rows @param {T} row @returns {T[]} */
function kept(rows, row) {
  const held = rows.find((each) => each.id === row.id)
  if (held && held.version >= row.version) return rows
  return held ? rows.map((each) => (each.id === row.id ? row : each)) : [...rows, row]
}
