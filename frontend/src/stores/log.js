const IN_DOM = 2_000
const STEP = 1_000

/** @typedef {{key: string, kind: string, text: string, first: boolean}} Line */

/** A log item as lines; each has the address that markers name. @param {LogItem} item @returns {Line[]} */
export function linesOf({ offset, index, kind, text }) {
  return text.split("\n").map((line, n) => ({ key: lineKey(offset, index, n), kind, text: line, first: n === 0 }))
}

/** @param {number} offset @param {number} index @param {number} line */
export function lineKey(offset, index, line) {
  return `${offset}:${index}:${line}`
}

/**
 * What a session printed. All of it is kept here as lines, at most 2,000 of them are shown: while following the last
 * ones, else where the reader stopped.
 * @param {{api: Api}} with_
 */
export function log({ api }) {
  /** @type {Line[]} */
  let lines = []
  let after = 0
  let turn = 0
  let reading = false
  return {
    from: 0,
    to: 0,
    size: 0,
    unread: 0,
    following: true,
    complete: false,
    phase: "loading",
    problem: "",

    /** @param {number} id */
    open(id) {
      turn += 1
      lines = []
      after = 0
      reading = false
      Object.assign(this, {
        from: 0,
        to: 0,
        size: 0,
        unread: 0,
        following: true,
        complete: false,
        phase: "loading",
        problem: "",
      })
      return this.read(id)
    },

    /** Read on from where the last answer ended, as long as there is more. @param {number} id */
    async read(id) {
      if (reading || this.complete) return
      const mine = turn
      reading = true
      try {
        while (mine === turn && (await this.chunk(id, mine)));
        if (mine === turn) this.problem = ""
      } catch (problem) {
        if (mine === turn) this.problem = /** @type {Error} */ (problem).message
        if (mine === turn && !lines.length) this.phase = "failed"
      }
      if (mine === turn) reading = false
    },

    /** @param {number} id @param {number} mine */
    async chunk(id, mine) {
      const page = await api.get(`/sessions/${id}/log`, { after, limit: 500 })
      if (mine !== turn) return false
      const moved = page.next > after
      after = page.next
      this.complete = page.complete
      this.phase = "ready"
      this.add(page.items.flatMap(linesOf))
      return page.more && moved
    },

    /** @param {Line[]} more */
    add(more) {
      if (!more.length) return
      for (const line of more) lines.push(line)
      this.size = lines.length
      if (this.following) this.toEnd()
      else if (this.to - this.from < IN_DOM && this.to === lines.length - more.length)
        this.to = Math.min(lines.length, this.from + IN_DOM)
      if (!this.following) this.unread += more.length
    },

    /** @param {number} from @param {number} to */
    slice(from, to) {
      return lines.slice(from, to)
    },

    toEnd() {
      this.to = lines.length
      this.from = Math.max(0, this.to - IN_DOM)
      this.unread = 0
    },

    follow() {
      this.following = true
      this.toEnd()
    },

    pause() {
      this.following = false
    },

    earlier() {
      this.following = false
      this.from = Math.max(0, this.from - STEP)
      this.to = Math.min(lines.length, this.from + IN_DOM)
    },

    later() {
      this.to = Math.min(lines.length, this.to + STEP)
      this.from = Math.max(0, this.to - IN_DOM)
    },

    get before() {
      return this.from
    },

    get after() {
      return this.size - this.to
    },

    /** Bring the line of this key into what is shown. @param {string} key */
    find(key) {
      const at = lines.findIndex((line) => line.key === key)
      if (at < 0) return false
      this.following = false
      if (at < this.from || at >= this.to) {
        this.from = Math.max(0, Math.min(at - STEP / 2, lines.length - IN_DOM))
        this.to = Math.min(lines.length, this.from + IN_DOM)
      }
      return true
    },
  }
}
