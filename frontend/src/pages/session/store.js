import { sequence } from "../../shared/browser/sequence.js"
import { markerKey } from "../../log/lines.js"
import { railOf, tallyOf } from "../../log/rail.js"
import { newestFirst } from "../events/store.js"

const PARTS = ["raw", "told", "events"]
const SAVED = 100

const READ_AGAIN_MS = 1_000
const FEW = 60
const NO_PROMPT = { system: "", injected: "", prompt: "", tokens: 0, budget: 0, memories: [] }

/**
 * One session: its facts, output, markers and prompt, while it runs and afterwards.
 * @param {{api: Api, feed: Feed, log: any, chain: any, engines: any, timers?: any}} dependencies
 */
export function session({ api, feed, log, chain, engines, timers = globalThis }) {
  const request = sequence()
  return {
    id: /** @type {number | null} */ (null),
    row: /** @type {Session | null} */ (null),
    markers: /** @type {Marker[]} */ ([]),
    events: /** @type {OpsEvent[]} */ ([]),
    /** The reviews opened by contradicting reports of the session. */
    contradicted: /** @type {Review[]} */ ([]),
    /** The memory searches of the session. */
    searches: /** @type {Search[]} */ ([]),
    /** The sort of entries that the rail shows; all of them if empty. */
    only: "",
    few: FEW,
    hash: "",
    /** The memories saved by a client session: the newest ones, and the total number. */
    saved: /** @type {Memory[]} */ ([]),
    savedCount: 0,
    savedKnown: false,
    savedProblem: "",
    context: /** @type {any} */ (NO_PROMPT),
    contextPhase: "loading",
    railed: false,
    /** Whether the session was watched while running: then nothing moves when it ends. */
    followed: false,
    phase: "closed",
    problem: "",
    /** The tab named in the address. */
    requestedPart: "output",
    timer: /** @type {any} */ (null),

    get running() {
      return this.row?.status === "running"
    },

    /** Whether it is a client session, which has no output and cannot be controlled here. */
    get ofClient() {
      return this.row?.trigger === "client"
    },

    /** The visible tab: of a client session only the saved memories or the prompt. */
    get part() {
      return this.ofClient && this.requestedPart !== "told" ? "saved" : this.requestedPart
    },

    /** @param {number} id @param {string} part @param {string} [hash] */
    visit(id, part, hash = "") {
      const previousPart = this.requestedPart
      this.requestedPart = PARTS.includes(part) ? part : "output"
      const isOther = id !== this.id
      if (!isOther && this.requestedPart === "told" && previousPart !== "told" && this.row) this.loadPrompt(id)
      if (isOther) this.open(id)
      else if ((previousPart === "raw") !== (this.requestedPart === "raw")) log.open(id, this.form)
      if (isOther || hash !== this.hash) this.point(hash)
    },

    /** Whether the output is formatted, or shown as stored in the file. */
    get form() {
      return this.requestedPart === "raw" ? "raw" : "whole"
    },

    /**
     * Go to the line that the address names: by position, or by its marker or resulting memory.
     * @param {string} hash
     */
    point(hash) {
      this.hash = hash
      const [, entity, number] = /^#(marker|memory)-(\d+)$/.exec(hash) ?? []
      if (!entity) return log.choose(/^#\d+:\d+:\d+$/.test(hash) ? hash.slice(1) : "")
      const marker = this.markers.find(
        (candidate) => Number(number) === (entity === "marker" ? candidate.id : candidate.memory_id),
      )
      if (marker) log.choose(markerKey(marker))
    },

    /** @param {number} id */
    open(id) {
      this.id = id
      Object.assign(this, {
        row: null,
        markers: [],
        events: [],
        contradicted: [],
        searches: [],
        only: "",
        few: FEW,
        saved: [],
        savedCount: 0,
        savedKnown: false,
        savedProblem: "",
        context: NO_PROMPT,
        contextPhase: "loading",
        railed: false,
        followed: false,
        phase: "loading",
        problem: "",
      })
      log.open(id, this.form)
      engines.load()
      this.load(id)
      this.keepReading()
    },

    exit() {
      this.id = null
      chain.exit()
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
        return
      }
      if (this.id !== id) return
      if (this.ofClient) return Promise.all([this.loadSaved(id), this.loadPrompt(id)])
      await Promise.all([
        this.loadMarkers(id),
        this.loadEvents(id),
        this.loadPrompt(id),
        this.loadReviews(id),
        this.loadSearches(id),
      ])
      if (this.id === id) this.railed = true
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
      this.followed ||= this.running && !this.ofClient
    },

    /** @param {number} id */
    async loadMarkers(id) {
      const page = await api.all(`/sessions/${id}/markers`).catch(() => null)
      if (!page || this.id !== id) return
      this.markers = page.items
      feed.replay(page.seq, "marker", this.followMarker.bind(this))
      feed.read(page.seq)
      if (/^#m/.test(this.hash)) this.point(this.hash)
    },

    /** @param {number} id */
    async loadReviews(id) {
      const page = await api.all("/reviews", { session: id, state: "all" }).catch(() => null)
      if (!page || this.id !== id) return
      this.contradicted = page.items
      feed.replay(page.seq, "review", this.followReview.bind(this))
    },

    /** The feed reports no searches: they are reloaded while the session runs. @param {number} id */
    async loadSearches(id) {
      const page = await api.all(`/sessions/${id}/searches`).catch(() => null)
      if (page && this.id === id) this.searches = page.items
    },

    /** @param {number} id */
    async loadSaved(id) {
      try {
        const page = await api.get("/memories", { session: id, sort: "created", limit: SAVED })
        if (this.id !== id) return
        Object.assign(this, { saved: page.items, savedCount: page.total, savedKnown: true, savedProblem: "" })
        feed.replay(page.seq, "memory", this.followMemory.bind(this))
      } catch (problem) {
        if (this.id === id) this.savedProblem = /** @type {Error} */ (problem).message
      }
    },

    /** Show saved memories at once. @param {Change} change */
    followMemory({ op, id, row }) {
      if (!this.ofClient || !this.savedKnown) return
      const isListed = this.saved.some((item) => item.id === id)
      if (op === "deleted" && isListed) {
        this.saved = this.saved.filter((item) => item.id !== id)
        this.savedCount -= 1
      } else if (op !== "batch" && row?.session_id === this.id) {
        if (!isListed) this.savedCount += 1
        this.saved = isListed ? kept(this.saved, row) : [row, ...this.saved]
      }
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
      const current = request()
      const context = await api.get(`/sessions/${id}/prompt`).catch(() => null)
      if (this.id !== id || !current()) return
      this.context = context ?? NO_PROMPT
      this.contextPhase = context ? "ready" : "failed"
    },

    /** The output is a file: it is read each second while the session runs, and at once after a change. */
    keepReading() {
      timers.clearTimeout(this.timer)
      if (this.id === null) return
      if (this.ofClient) return
      if (this.running || this.phase === "loading" || !log.complete || !log.whole) this.readOn()
      this.timer = timers.setTimeout(() => this.keepReading(), READ_AGAIN_MS)
    },

    readOn() {
      if (this.ofClient) return
      if (this.id !== null && this.phase === "ready") log.read(this.id)
    },

    /** @param {Change} change */
    follow({ id, row }) {
      if (id !== this.id || !row) return
      const isChanged = row.turns !== this.row?.turns || row.status !== this.row?.status
      this.take(row)
      this.readOn()
      if (this.ofClient || !isChanged || !this.railed) return
      this.loadSearches(id)
      this.loadPrompt(id)
    },

    /** @param {Change} change */
    followMarker({ row }) {
      if (!row || row.session_id !== this.id) return
      this.markers = kept(this.markers, row)
      this.readOn()
    },

    /** @param {Change} change */
    followReview({ row }) {
      if (row && row.session_id === this.id) this.contradicted = kept(this.contradicted, row)
    },

    /** @param {Change} change */
    followEvent({ op, id, row }) {
      if (op === "deleted") this.events = this.events.filter((event) => event.id !== id)
      else if (row && row.session_id === this.id) this.events = kept(this.events, row).sort(newestFirst)
    },

    async stop() {
      if (this.id !== null) this.take(await api.post(`/sessions/${this.id}/stop`))
    },

    /** The number of markers beyond the limit, which remain only in the file. */
    get markersLeft() {
      return this.row?.markers_left ?? 0
    },

    async ingestRest() {
      if (this.id !== null) this.take(await api.post(`/sessions/${this.id}/markers`))
    },

    /** @param {Marker} marker */
    async takeMarker(marker) {
      this.markers = kept(this.markers, await api.put(`/markers/${marker.id}/accepted`))
    },

    /** The entries are shown when all of them are loaded, since they arrive in any order. */
    get entries() {
      if (!this.railed) return []
      return railOf({
        markers: this.markers,
        included: this.context.memories,
        contradicted: this.contradicted,
        searches: this.searches,
      })
    },

    get tally() {
      return tallyOf(this.entries)
    },

    get notes() {
      const visibleEntries = this.entries.filter(({ sort }) => !this.only || sort === this.only)
      return visibleEntries.slice(0, this.few)
    },

    get moreNotes() {
      const { n } = this.tally.find(({ sort }) => sort === this.only) ?? { n: this.entries.length }
      return n > this.few
    },

    /** @param {string} sort */
    show(sort) {
      this.only = this.only === sort ? "" : sort
      this.few = FEW
    },

    showMore() {
      this.few += FEW
    },
  }
}

/** Replace a row by a newer version only. @template {Row} T @param {T[]} rows @param {T} row @returns {T[]} */
function kept(rows, row) {
  const existing = rows.find((item) => item.id === row.id)
  if (existing && existing.version >= row.version) return rows
  return existing ? rows.map((item) => (item.id === row.id ? row : item)) : [...rows, row]
}
