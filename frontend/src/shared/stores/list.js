const IN_DOM = 200
const STEP = 50
const GLOW_MS = 2_400
const BREATH_MS = 400
const FEW = 5

/**
 * Merge two objects, preserving getters.
 * @template A, B
 * @param {A} base
 * @param {B & ThisType<A & B>} more
 * @returns {A & B}
 */
export function extend(base, more) {
  return /** @type {A & B} */ (
    Object.defineProperties(/** @type {any} */ (base), Object.getOwnPropertyDescriptors(more))
  )
}

/**
 * A list that follows the change feed; it `opens` with this many rows. Nothing moves under the pointer or the focus:
 * while `held`, new rows are held back and deleted rows stay, struck through. A change older than the loaded row is not
 * applied.
 * @template {Row} T
 * @param {{
 *   api: Api, feed: Feed, path: string, entity: string,
 *   query: () => Record<string, any>,
 *   matches: (row: T) => boolean,
 *   compare: (a: T, b: T) => number,
 *   later?: (run: () => void, ms: number) => unknown,
 *   opens?: number,
 *   byIds?: (ids: number[]) => Promise<T[]>,
 * }} dependencies `byIds` reloads some rows, at most 200
 */
export function liveList({
  api,
  feed,
  path,
  entity,
  query,
  matches,
  compare,
  later = setTimeout,
  opens = STEP,
  byIds,
}) {
  let lastRequestId = 0
  let breathing = false
  /** @type {T[]} rows that arrived while earlier rows still slide in */
  let arriving = []
  /** @type {Set<number>} */
  const deletedIds = new Set()
  /** @type {Set<number>} rows changed by a bulk act and not reloaded yet */
  const changed = new Set()
  let reading = false
  return {
    rows: /** @type {T[]} */ ([]),
    waiting: /** @type {T[]} */ ([]),
    fresh: /** @type {Record<number, boolean>} */ ({}),
    leaving: /** @type {Record<number, boolean>} */ ({}),
    next: /** @type {string | null} */ (null),
    total: /** @type {number | null} */ (null),
    phase: "loading",
    busy: false,
    held: false,
    /** How often rows were pushed aside by additions or removals. */
    moved: 0,
    first: 0,
    /** The number of rows rendered: few, until more are requested, so that each change is cheap. */
    size: opens,
    problem: "",

    get shown() {
      return this.rows.slice(this.first, this.first + this.size)
    },

    get empty() {
      return this.phase === "ready" && this.rows.length === 0 && this.next === null
    },

    get earlier() {
      return this.first > 0
    },

    get hasMore() {
      return this.next !== null || this.first + this.size < this.rows.length
    },

    /** Reload the list. The previous rows stay visible until the response arrives. */
    async load() {
      const requestId = ++lastRequestId
      this.busy = true
      try {
        const page = await api.get(path, query())
        if (requestId === lastRequestId) this.take(page)
      } catch (problem) {
        if (requestId === lastRequestId) this.fail(/** @type {Error} */ (problem))
      }
      if (requestId === lastRequestId) this.busy = false
    },

    /** @param {Page<T>} page */
    take(page) {
      this.rows = page.items
      this.next = page.next
      this.total = page.total ?? null
      this.waiting = []
      arriving = []
      this.leaving = {}
      this.first = 0
      this.size = opens
      this.phase = "ready"
      this.problem = ""
      feed.replay(page.seq, entity, this.apply.bind(this))
      feed.read(page.seq)
    },

    /** @param {Error} problem */
    fail(problem) {
      this.problem = problem.message
      this.phase = this.rows.length ? this.phase : "failed"
    },

    /** The next rows, or rows that are already loaded. At most 200 are rendered. */
    async more() {
      if (this.busy) return
      if (this.first + this.size >= this.rows.length && this.next !== null) await this.fetchMore()
      if (this.size < IN_DOM) this.size = Math.min(IN_DOM, this.size + STEP)
      else this.first = Math.max(0, Math.min(this.first + STEP, this.rows.length - IN_DOM))
    },

    async fetchMore() {
      if (this.busy) return
      const requestId = lastRequestId
      this.busy = true
      try {
        const page = await api.get(path, { ...query(), cursor: this.next })
        if (requestId !== lastRequestId) return
        const loadedIds = new Set(this.rows.map((row) => row.id))
        this.rows.push(...page.items.filter((/** @type {T} */ row) => !loadedIds.has(row.id)))
        this.next = page.next
        this.problem = ""
        feed.replay(page.seq, entity, this.apply.bind(this))
      } catch (problem) {
        this.problem = /** @type {Error} */ (problem).message
      }
      this.busy = false
    },

    back() {
      this.first = Math.max(0, this.first - STEP)
    },

    /** @param {Change} change */
    apply({ op, id, row }) {
      if (op === "batch") return this.applyBatch(row)
      if (op === "deleted") return this.drop(id)
      if (op === "created") deletedIds.delete(id)
      if (row) this.put(row)
    },

    /**
     * A bulk change: deletions are applied by id, other rows are reloaded, once for a burst.
     * @param {{ids: number[], op: string}} batch
     */
    applyBatch({ ids, op }) {
      if (op === "deleted") return ids.forEach((id) => this.drop(id))
      if (op === "created") ids.forEach((id) => deletedIds.delete(id) && changed.add(id))
      const listedIds = new Set([...this.rows, ...this.waiting].map((row) => row.id))
      for (const id of ids) if (listedIds.has(id)) changed.add(id)
      if (!reading) later(() => this.readAgain(), BREATH_MS)
      reading = true
    },

    /** At rest the whole list is reloaded; while held, each changed row is updated in place. */
    async readAgain() {
      const ids = [...changed]
      changed.clear()
      reading = false
      if (!this.held || !byIds) return this.load()
      const requestId = lastRequestId
      try {
        for (let at = 0; at < ids.length && requestId === lastRequestId; at += IN_DOM) {
          const rows = await byIds(ids.slice(at, at + IN_DOM))
          if (requestId === lastRequestId) rows.forEach((row) => this.put(row))
        }
      } catch (problem) {
        this.problem = /** @type {Error} */ (problem).message
      }
    },

    /**
     * Insert or update a row. `own` marks an act of the operator: it shows at once.
     * @param {T} row
     * @param {{own?: boolean}} [how]
     */
    put(row, { own = false } = {}) {
      if (own) deletedIds.delete(row.id)
      if (deletedIds.has(row.id)) return
      if (replaced(this.rows, row)) return this.change(row.id)
      if (replaced(arriving, row) || arriving.some(({ id }) => id === row.id)) return
      if (this.waiting.some((other) => other.id === row.id)) return this.putWaiting(row, own)
      if (this.rows.some((other) => other.id === row.id) || !matches(row)) return
      if (this.total !== null) this.total += 1
      if (this.beyond(row)) return
      if (own) this.place(row)
      else if (this.moves || this.waiting.length > 0) this.waiting.push(row)
      else if (breathing) arriving.push(row)
      else this.arrive([row])
    },

    /** At rest a few rows slide in one after another; many at once are held back. @param {T[]} rows */
    arrive(rows) {
      if (rows.length > FEW || this.moves || this.waiting.length > 0) return this.waiting.push(...rows)
      rows.forEach((row) => this.place(row))
      if (rows.length === 0 || this.rows.length === rows.length) return
      breathing = true
      later(() => {
        breathing = false
        this.arrive(arriving.splice(0))
      }, BREATH_MS)
    },

    /** @param {number} id */
    change(id) {
      this.moved += 1
      this.glow(id)
    },

    /**
     * Update a row that is held back; a row of the operator, which the feed delivered first, is shown.
     * @param {T} row
     * @param {boolean} own
     */
    putWaiting(row, own) {
      replaced(this.waiting, row)
      this.waiting = this.waiting.filter((waitingRow) => matches(waitingRow) && !(own && waitingRow.id === row.id))
      if (own) this.place(row)
    },

    /** Whether another row would move rows that must stay. */
    get moves() {
      return this.held && this.rows.length > 0
    },

    /** Whether a row is beyond the loaded rows: "Show more" will load it. @param {T} row */
    beyond(row) {
      const last = this.rows[this.rows.length - 1]
      return this.next !== null && last !== undefined && compare(last, row) < 0
    },

    /** @param {T} row */
    place(row) {
      const at = this.rows.findIndex((other) => compare(row, other) < 0)
      this.rows.splice(at < 0 ? this.rows.length : at, 0, row)
      this.change(row.id)
    },

    /** @param {number} id @param {{own?: boolean}} [how] */
    drop(id, { own = false } = {}) {
      deletedIds.add(id)
      arriving = arriving.filter((row) => row.id !== id)
      const wasWaiting = this.waiting.some((row) => row.id === id)
      this.waiting = this.waiting.filter((row) => row.id !== id)
      if (wasWaiting && this.total !== null) this.total -= 1
      if (!this.rows.some((row) => row.id === id)) return
      if (this.held && !own) this.leaving[id] = true
      else this.remove([id])
    },

    /** @param {number[]} ids */
    remove(ids) {
      const previousCount = this.rows.length
      this.rows = this.rows.filter((row) => !ids.includes(row.id))
      this.moved += 1
      if (this.total !== null) this.total -= previousCount - this.rows.length
      ids.forEach((id) => delete this.leaving[id])
      if (this.next !== null && this.rows.length <= FEW) this.fetchMore()
    },

    /** Show the rows held back, each in its position. */
    reveal() {
      const rows = this.waiting
      this.waiting = []
      rows.forEach((row) => this.place(row))
      return rows
    },

    hold() {
      this.held = true
    },

    release() {
      this.held = false
      const ids = Object.keys(this.leaving).map(Number)
      if (ids.length) this.remove(ids)
    },

    /** @param {number} id */
    glow(id) {
      this.fresh[id] = true
      later(() => delete this.fresh[id], GLOW_MS)
    },
  }
}

/** Replace a row by a newer version in place. @template {Row} T @param {T[]} rows @param {T} row */
function replaced(rows, row) {
  const at = rows.findIndex((candidate) => candidate.id === row.id)
  if (at < 0 || rows[at].version >= row.version) return false
  rows[at] = row
  return true
}
