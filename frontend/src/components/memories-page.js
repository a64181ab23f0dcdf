import { count, serviceName } from "../format.js"
import { onControl, revealIn } from "./rows.js"

/** @param {(name: string) => any} store */
export function memoriesPage(store) {
  const [memories, memory, curate, router] = ["memories", "memory", "curate", "router"].map(store)
  const chosen = () =>
    memories.rows
      .filter((/** @type {Memory} */ row) => memories.chosen[row.id])
      .map((/** @type {Memory} */ row) => ({ ...row }))
  return {
    act: "confidence",
    picking: false,
    value: "0.5",

    reveal: () => revealIn(memories),

    serviceChoices() {
      const held = memories.filters.service
      const all = memories.facets.services.map((/** @type {any} */ each) =>
        choice(serviceName(each.service), each.count),
      )
      return !held || all.some((/** @type {any} */ each) => each.name === held) ? all : [...all, choice(held, 0)]
    },

    categoryChoices() {
      const held = memories.filters.category
      const all = memories.facets.categories.map((/** @type {any} */ each) => choice(each.category, each.count))
      return !held || all.some((/** @type {any} */ each) => each.name === held) ? all : [...all, choice(held, 0)]
    },

    /** @param {Memory} row */
    rowClass: (row) => ({
      "is-off": !row.active,
      "is-open": row.id === memory.id,
      "is-chosen": memories.chosen[row.id],
      "is-fresh": memories.fresh[row.id],
      "is-leaving": memories.leaving[row.id],
    }),

    /** @param {Memory} row @param {Event} click */
    openRow(row, click) {
      if (!onControl(click)) router.go(router.keeping(`/memories/${row.id}`))
    },

    deleteChosen: () => curate.removeMany(chosen()),

    changeChosen() {
      return curate.change(chosen(), this.act, Number(this.value))
    },

    /** Deactivating and bringing back need no number. */
    needsValue() {
      return this.act !== "deactivate" && this.act !== "activate"
    },

    /** Ask which moment, and let it be typed at once. */
    pick() {
      this.picking = true
      setTimeout(() => /** @type {HTMLElement} */ (document.querySelector("input[type=datetime-local]"))?.focus())
    },

    /** Show everything as it stood then; nothing means now. @param {string} local */
    goTo(local) {
      this.picking = false
      router.go(router.with({ as_of: local ? new Date(local).toISOString() : "" }))
    },

    moment: () => (memories.past ? localTime(new Date(memories.filters.as_of)) : ""),
    atMost: () => localTime(new Date(store("clock").now)),

    toggleShown: () => memories.chooseAll(memories.chosenCount === 0),

    everyShown: () => `All ${count(memories.chosenIds.length, "row")} shown are selected.`,
    everyMatch: () => `Select all ${count(memories.total ?? 0, "memory", "memories")} that match`,
  }
}

/** A moment as a field for date and time takes it. @param {Date} time */
function localTime(time) {
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 19)
}

/** @param {string} name @param {number} n */
function choice(name, n) {
  return { name, label: `${name} (${n})` }
}
