import { t } from "../../shared/texts/index.js"

const MOST = 5

/**
 * The services that need a person, in the space that they had when the page opened: at most five rows, and one line that
 * counts the others. Rows keep their order.
 */
export function attention() {
  return {
    rows: /** @type {Attention[]} */ ([]),
    /** All of the last response. */
    latest: /** @type {Attention[]} */ ([]),
    /** The number of rows with space, the line included; 0 until the first response of a visit. */
    places: 0,

    /** @param {Attention[]} people */
    take(people) {
      if (!this.places) this.places = Math.min(MOST + 1, Math.max(1, people.length))
      const newer = new Map(people.map((person) => [person.service, person]))
      const remaining = this.rows.flatMap(({ service }) => newer.get(service) ?? [])
      const others = people.filter(({ service }) => !remaining.some((row) => row.service === service))
      this.latest = people
      const n = people.length > this.places ? this.places - 1 : people.length
      this.rows = [...remaining, ...others].slice(0, n)
    },

    /** An act of the operator may move the page. */
    unfold() {
      this.places = this.latest.length
      this.take(this.latest)
    },

    /** The number of services without a row. */
    get others() {
      return this.latest.length - this.rows.length
    },

    get words() {
      return t(this.rows.length ? "overview.moreAttention" : "overview.attention", { n: this.others })
    },
  }
}
