/** The ticked rows of a list: some, a range, all visible, or all that match. @returns {any} */
export function selection() {
  /** @type {number | null} the start of a range */
  let anchorId = null
  return {
    chosen: /** @type {Record<number, boolean>} */ ({}),
    /** All that match, not only the ticked rows. */
    everything: false,

    get chosenIds() {
      return this.rows.filter(this.isChosen, this).map((/** @type {Row} */ row) => row.id)
    },

    get chosenCount() {
      return this.everything ? (this.total ?? 0) : this.chosenIds.length
    },

    /** All visible rows are ticked, and more rows match. */
    get mayChooseEverything() {
      return !this.everything && this.allChosen && (this.total ?? 0) > this.chosenIds.length
    },

    get allChosen() {
      return this.shown.length > 0 && this.shown.every(this.isChosen, this)
    },

    /** @param {Row} row */
    isChosen(row) {
      return Boolean(this.chosen[row.id])
    },

    chooseEverything() {
      this.everything = true
    },

    unchoose() {
      this.chosen = {}
      this.everything = false
      anchorId = null
    },

    /** @param {boolean} on */
    chooseAll(on) {
      this.everything = false
      this.chosen = on ? Object.fromEntries(this.shown.map((/** @type {Row} */ row) => [row.id, true])) : {}
    },

    /** @param {number} id @param {boolean} on */
    choose(id, on) {
      this.everything = false
      anchorId = id
      if (on) this.chosen[id] = true
      else delete this.chosen[id]
    },

    /** Tick the range from the last ticked row to this one, in either direction. @param {number} id */
    chooseTo(id) {
      const ids = this.rows.map((/** @type {Row} */ row) => row.id)
      const [start, end] = [ids.indexOf(anchorId ?? id), ids.indexOf(id)].sort((a, b) => a - b)
      this.everything = false
      for (const rowId of ids.slice(Math.max(0, start), end + 1)) this.chosen[rowId] = true
      anchorId = id
    },
  }
}
