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
  let matchLines = []
  /** @type {Set<string>} */
  let opened = new Set()
  let form = "whole"
  let wantedKey = ""
  let hereKey = ""
  let nextOffset = 0
  let lastRequestId = 0
  let isReading = false
  return {
    ...BLANK,
    wrap: true,
    /** The number of rows inserted above the existing ones. */
    above: 0,

    /** @param {number} id @param {"whole" | "raw"} [as] */
    open(id, as = "whole") {
      lastRequestId += 1
      ;[items, lines, rows, matchLines, opened] = [[], [], [], [], new Set()]
      form = as
      wantedKey = ""
      nextOffset = 0
      isReading = false
      Object.assign(this, BLANK, { above: 0 })
      return this.read(id)
    },

    /** Read from the end to the beginning, then follow new output. @param {number} id */
    async read(id) {
      if (isReading || (this.complete && this.whole)) return
      const requestId = lastRequestId
      isReading = true
      try {
        if (this.phase !== "ready" || !this.whole) await this.back(id, requestId)
        while (requestId === lastRequestId && !this.complete && (await this.on(id, requestId)));
        if (requestId === lastRequestId) this.problem = ""
      } catch (problem) {
        if (requestId === lastRequestId) this.problem = /** @type {Error} */ (problem).message
        if (requestId === lastRequestId && !lines.length) this.phase = "failed"
      }
      if (requestId === lastRequestId) isReading = false
    },

    /** @param {number} id @param {number} requestId */
    async back(id, requestId) {
      let before = items.length ? items[0].offset : END
      for (let hasMore = true; hasMore;) {
        const limit = before === END ? FIRST : LOG_LIMIT
        const page = await api.get(`/sessions/${id}/log`, { before, limit, form })
        if (requestId !== lastRequestId) return
        this.elsewhere = page.elsewhere ?? ""
        if (before === END) [nextOffset, this.complete] = [page.next, page.complete]
        hasMore = page.more
        before = page.start
        this.whole = !hasMore
        this.prepend(page.items)
        this.phase = "ready"
      }
    },

    /** @param {number} id @param {number} requestId */
    async on(id, requestId) {
      const page = await api.get(`/sessions/${id}/log`, { after: nextOffset, limit: ON, form })
      if (requestId !== lastRequestId) return false
      const hasAdvanced = page.next > nextOffset
      nextOffset = page.next
      this.complete = page.complete
      this.append(page.items)
      return page.more && hasAdvanced
    },

    /** @param {LogItem[]} olderItems */
    prepend(olderItems) {
      const previousCount = rows.length
      items = [...olderItems, ...items]
      lines = addLines([], items)
      sift()
      this.above += rows.length - previousCount
      this.changed()
      if (wantedKey) this.aim(wantedKey)
    },

    /** @param {LogItem[]} newItems */
    append(newItems) {
      if (!newItems.length) return
      items.push(...newItems)
      const firstNew = lines.length
      const partial = lines.at(-1)?.kind === "partial"
      addLines(lines, newItems)
      if (partial || newItems.some((item) => item.usage)) sift()
      else for (let at = firstNew; at < lines.length; at++) if (isShown(lines[at], opened)) rows.push(at)
      if (!this.following) this.unread += Math.max(0, lines.length - firstNew)
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
      wantedKey = at < 0 && !this.whole ? key : ""
      if (at < 0) {
        if (wantedKey) this.following = false
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
      const query = this.query.toLowerCase()
      matchLines = []
      if (query) lines.forEach((line, at) => line.text.toLowerCase().includes(query) && matchLines.push(at))
      this.matches = matchLines.length
      this.place = matchLines.findIndex((at) => lines[at].key === hereKey) + 1
    },

    /** Go to the next or the previous match. @param {number} by */
    step(by) {
      if (!matchLines.length) return
      const current = this.place || (by > 0 ? 0 : 1)
      this.place = ((current - 1 + by + matchLines.length) % matchLines.length) + 1
      hereKey = lines[matchLines[this.place - 1]].key
      this.ensure(matchLines[this.place - 1])
    },

    /** Whether this is the current match. @param {number} row */
    isHere(row) {
      return this.place > 0 && rows[row] === matchLines[this.place - 1]
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
