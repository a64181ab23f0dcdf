const KEPT = 1_000
const STALE_MS = 3_000

/**
 * Delivers each change once and in order. A list read at number n requests the changes after n (`replay`), a page that
 * read its data before it joined catches up, and a pause holds all changes back.
 * @param {{changes: (after: number) => Promise<any>, refused?: () => void, timers?: any, now?: () => Date}} dependencies
 * @returns {Feed}
 */
export function createFeed({ changes, refused = () => {}, timers = globalThis, now = () => new Date() }) {
  /** @type {Map<string, ((change: Change) => void)[]>} */ const followers = new Map()
  /** @type {(() => void)[]} */ const resets = []
  /** @type {Change[]} */ let recentChanges = []
  /** @type {Change[]} */ let pausedChanges = []
  /** @type {number | null} */ let joinedSeq = null
  /** @type {number | null} */ let firstRead = null
  /** @type {any[]} */ let resultsLater = []
  let lastSeq = 0
  let resetLater = false
  /** @type {any} */ let timer = null

  return {
    state: { loaded: false, live: true, stale: false, offline: false, at: null, paused: false, behind: 0 },

    /** A page that never receives the position of the feed shows that it is not live. */
    begin() {
      const startedAt = now().getTime()
      timer = timers.setTimeout(() => joinedSeq === null && markLost(this, startedAt), STALE_MS)
    },

    on(entity, apply) {
      followers.set(entity, [...(followers.get(entity) ?? []), apply])
    },

    onReset(load) {
      resets.push(load)
    },

    /** A list was read at this number: request the changes between that number and the moment the page joined. */
    read(seq) {
      if (joinedSeq === null) firstRead = Math.min(firstRead ?? seq, seq)
      else if (seq < joinedSeq) catchUp(this, seq)
    },

    replay(seq, entity, apply) {
      recentChanges.filter((change) => change.seq > seq && change.entity === entity).forEach(apply)
    },

    receive(message) {
      if (message.kind === "changes") return this.state.paused ? queue(this, message.items) : deliverAll(message.items)
      if (message.kind === "results") return results(this, message.items)
      if (message.kind === "reset") return reset(this, message.seq)
      if (message.kind === "refused") return refused()
      if (message.kind === "lost") return markLost(this, message.at)
      if (message.kind === "joined" && message.seq === null) return
      if (message.kind === "joined") message.live ? markLive(this) : markLost(this)
      if (message.kind === "joined" && joinedSeq !== null) return rejoin(this, /** @type {number} */ (message.seq))
      if (message.kind === "joined" || message.kind === "hello") return join(this, /** @type {number} */ (message.seq))
      if (message.kind === "live") markLive(this)
    },

    /** The browser reports that it is offline: requests fail, whatever the state of the stream. */
    goOffline() {
      this.state.offline = true
      this.state.at ??= now()
    },

    /** Repeat the requests that failed while the browser was offline. */
    goOnline() {
      if (!this.state.offline) return
      this.state.offline = false
      if (this.state.live) this.state.at = null
      reloadAll(this)
    },

    pause() {
      this.state.paused = true
    },

    resume() {
      const items = pausedChanges
      this.state.paused = false
      this.state.behind = 0
      pausedChanges = []
      results(this, resultsLater.splice(0))
      if (resetLater) resets.forEach((load) => load())
      else deliverAll(items)
      resetLater = false
    },
  }

  /**
   * New check results; of those that arrive during a pause only the newest are delivered.
   * @param {Feed} feed
   * @param {any[]} items
   */
  function results(feed, items) {
    if (feed.state.paused) resultsLater = [...resultsLater, ...items].slice(-KEPT)
    else if (items.length) followers.get("check_results")?.forEach((apply) => apply(/** @type {any} */ (items)))
  }

  /** Reload everything, but not while the feed is paused. @param {Feed} feed */
  function reloadAll(feed) {
    if (feed.state.paused) resetLater = true
    else resets.forEach((load) => load())
  }

  /** @param {Feed} feed @param {number} seq */
  function join(feed, seq) {
    feed.state.loaded = true
    if (joinedSeq !== null) return
    joinedSeq = lastSeq = seq
    if (firstRead !== null && firstRead < seq) catchUp(feed, firstRead)
  }

  /**
   * A page restored from the back/forward cache missed the changes in between.
   * @param {Feed} feed
   * @param {number} seq
   */
  function rejoin(feed, seq) {
    if (seq !== (pausedChanges.at(-1)?.seq ?? lastSeq)) reset(feed, seq)
  }

  /** @param {Feed} feed @param {number} after */
  async function catchUp(feed, after) {
    const page = await changes(after).catch(() => ({ reset: true }))
    if (page.reset) return reloadAll(feed)
    page.items.forEach(deliver)
    if (page.items.length >= 500) catchUp(feed, page.next)
  }

  /** @param {Change[]} items */
  function deliverAll(items) {
    for (const change of items) {
      if (change.seq <= lastSeq) continue
      lastSeq = change.seq
      recentChanges.push(change)
      deliver(change)
    }
    if (recentChanges.length > 2 * KEPT) recentChanges = recentChanges.slice(-KEPT)
  }

  /** @param {Change} change */
  function deliver(change) {
    followers.get(change.entity)?.forEach((apply) => apply(change))
  }

  /** @param {Feed} feed @param {Change[]} items */
  function queue(feed, items) {
    feed.state.behind += items.length
    if (feed.state.behind > 5 * KEPT) resetLater = true
    if (resetLater) pausedChanges = []
    else pausedChanges.push(...items)
  }

  /** @param {Feed} feed @param {number} seq */
  function reset(feed, seq) {
    lastSeq = seq
    joinedSeq ??= seq
    recentChanges = []
    reloadAll(feed)
  }

  /** @param {Feed} feed @param {number} [at] time of the last message */
  function markLost(feed, at = now().getTime()) {
    if (!feed.state.live) return
    feed.state.live = false
    feed.state.at ??= new Date(at)
    const remainingMs = STALE_MS - (now().getTime() - at)
    timer = timers.setTimeout(() => (feed.state.stale = true), Math.max(0, remainingMs))
  }

  /** @param {Feed} feed */
  function markLive(feed) {
    timers.clearTimeout(timer)
    feed.state.live = true
    feed.state.stale = false
    if (!feed.state.offline) feed.state.at = null
  }
}
