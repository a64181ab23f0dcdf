import { LOG_LIMIT } from "../../generated/values.js"
import { addLines, isShown } from "./lines.js"
import { t } from "../shared/texts/index.js"

const END = Number.MAX_SAFE_INTEGER
const FIRST = 120
const ON = 500
const BLANK = {
  stamp: 0,
  size: 0,
  unread: 0,
  following: true,
  complete: false,
  whole: false,
  phase: "loading",
  problem: "",
  /** The home directory that holds the output, if it is another one. */
  elsewhere: "",
  query: "",
  matches: 0,
  place: 0,
  chosen: "",
  goal: /** @type {{row: number} | null} */ (null),
}

/** @typedef {import("./lines.js").Line} Line */

/**
 * The output of a session. Its end is read first, then everything before it, so that the end is visible at once and
 * every line can be searched; the view decides which lines are in the page.
 * @param {{api: Api}} dependencies
 */
export function log({ api }) {
  /** @type {LogItem[]} */
  let items = []
  /** @type {Line[]} */
  let lines = []
  /** @type {number[]} the visible lines, by index */
  let rows = []
  /** @type {number[]} */
  let found = []
  /** @type {Set<string>} */
  let opened = new Set()
  let form = "whole"
  let wanted = ""
  let hereKey = ""
  let after = 0
  let turn = 0
  let reading = false
  return {
    ...BLANK,
    wrap: true,
    /** The number of rows inserted above the existing ones. */
    above: 0,

    /** @param {number} id @param {"whole" | "raw"} [as] */
    open(id, as = "whole") {
      turn += 1
      ;[items, lines, rows, found, opened] = [[], [], [], [], new Set()]
      form = as
      wanted = ""
      after = 0
      reading = false
      Object.assign(this, BLANK, { above: 0 })
      return this.read(id)
    },

    /** Read from the end to the beginning, then follow new output. @param {number} id */
    async read(id) {
      if (reading || (this.complete && this.whole)) return
      const mine = turn
      reading = true
      try {
        if (this.phase !== "ready" || !this.whole) await this.back(id, mine)
        while (mine === turn && !this.complete && (await this.on(id, mine)));
        if (mine === turn) this.problem = ""
      } catch (problem) {
        if (mine === turn) this.problem = /** @type {Error} */ (problem).message
        if (mine === turn && !lines.length) this.phase = "failed"
      }
      if (mine === turn) reading = false
    },

    /** @param {number} id @param {number} mine */
    async back(id, mine) {
      let before = items.length ? items[0].offset : END
      for (let more = true; more;) {
        const limit = before === END ? FIRST : LOG_LIMIT
        const page = await api.get(`/sessions/${id}/log`, { before, limit, form })
        if (mine !== turn) return
        this.elsewhere = page.elsewhere ?? ""
        if (before === END) [after, this.complete] = [page.next, page.complete]
        more = page.more
        before = page.start
        this.whole = !more
        this.prepend(page.items)
        this.phase = "ready"
      }
    },

    /** @param {number} id @param {number} mine */
    async on(id, mine) {
      const page = await api.get(`/sessions/${id}/log`, { after, limit: ON, form })
      if (mine !== turn) return false
      const moved = page.next > after
      after = page.next
      this.complete = page.complete
      this.append(page.items)
      return page.more && moved
    },

    /** @param {LogItem[]} older */
    prepend(older) {
      const before = rows.length
      items = [...older, ...items]
      lines = addLines([], items)
      sift()
      this.above += rows.length - before
      this.changed()
      if (wanted) this.aim(wanted)
    },

    /** @param {LogItem[]} newer */
    append(newer) {
      if (!newer.length) return
      items.push(...newer)
      const from = lines.length
      const partial = lines.at(-1)?.kind === "partial"
      addLines(lines, newer)
      if (partial || newer.some((item) => item.usage)) sift()
      else for (let at = from; at < lines.length; at++) if (isShown(lines[at], opened)) rows.push(at)
      if (!this.following) this.unread += Math.max(0, lines.length - from)
      this.changed()
    },

    changed() {
      this.size = lines.length
      this.stamp += 1
      if (this.query) this.seek()
    },

    /** The code that draws the lines could not be loaded. */
    lost() {
      this.phase = "failed"
      this.problem = t("common.part_lost")
    },

    /** @returns {number} */
    get count() {
      return this.stamp >= 0 ? rows.length : 0
    },

    /** @param {number} row */
    line: (row) => lines[rows[row]],

    /** Its line number in the output, known once everything before it is loaded. @param {number} row */
    number(row) {
      return this.whole ? rows[row] + 1 : 0
    },

    /** @param {string} key */
    isOpen: (key) => opened.has(key),

    /** @param {string} key */
    toggle(key) {
      if (!opened.delete(key)) opened.add(key)
      this.following = false
      sift()
      this.stamp += 1
    },

    follow() {
      this.following = true
      this.unread = 0
      this.stamp += 1
    },

    pause() {
      this.following = false
    },

    /** Mark the linked line, and scroll to it if `show`. @param {string} key @param {boolean} [show] */
    choose(key, show = true) {
      this.chosen = key
      if (key && show) this.aim(key)
    },

    /** Scroll to the line with this key as soon as it is loaded. @param {string} key */
    aim(key) {
      const at = lines.findIndex((line) => line.key === key)
      wanted = at < 0 && !this.whole ? key : ""
      if (at < 0) {
        if (wanted) this.following = false
        return false
      }
      this.ensure(at)
      return true
    },

    /** @param {number} at */
    ensure(at) {
      this.following = false
      const { fold, head } = lines[at]
      if (fold && !head && !opened.has(fold)) {
        opened.add(fold)
        sift()
        this.stamp += 1
      }
      this.goal = { row: rows.indexOf(at) }
    },

    /** @param {string} text */
    search(text) {
      this.query = text.trim()
      hereKey = ""
      this.seek()
      if (this.matches) this.step(1)
      else this.stamp += 1
    },

    /** Find every line that contains the search text in the loaded output. */
    seek() {
      const what = this.query.toLowerCase()
      found = []
      if (what) lines.forEach((line, at) => line.text.toLowerCase().includes(what) && found.push(at))
      this.matches = found.length
      this.place = found.findIndex((at) => lines[at].key === hereKey) + 1
    },

    /** Go to the next or the previous match. @param {number} by */
    step(by) {
      if (!found.length) return
      const from = this.place || (by > 0 ? 0 : 1)
      this.place = ((from - 1 + by + found.length) % found.length) + 1
      hereKey = lines[found[this.place - 1]].key
      this.ensure(found[this.place - 1])
    },

    /** Whether this is the current match. @param {number} row */
    isHere(row) {
      return this.place > 0 && rows[row] === found[this.place - 1]
    },

    /** @param {string} key */
    text(key) {
      return lines.find((line) => line.key === key)?.text ?? ""
    },
  }

  function sift() {
    rows = []
    for (let at = 0; at < lines.length; at++) if (isShown(lines[at], opened)) rows.push(at)
  }
}
