import { THRESHOLD, count, serviceName } from "../format.js"
import { onControl, revealIn } from "./rows.js"
import { trend } from "./trend.js"

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

    closePanel() {
      const { id } = memory
      router.go(router.keeping("/memories"))
      setTimeout(() =>
        /** @type {HTMLElement} */ (document.querySelector(`a[data-row][href^="/memories/${id}"]`))?.focus(),
      )
    },

    async save() {
      const { active } = memory.row
      if (!(await memory.save())) return
      store("toasts").say(active === memory.row?.active ? "Saved." : savedWords(memory.row))
    },

    /** Could sessions read it again just like that? */
    mayReturn: () => !memory.past && !memory.row.active && memory.row.confidence >= THRESHOLD,

    async bringBack() {
      const { id, version } = memory.row
      if (await memory.send(id, version, { active: true })) store("toasts").say("It is active again: sessions read it.")
    },

    raisedWords: () => raisedWords(memory.row, memory.draft.confidence),

    async deleteOpen() {
      if (await curate.remove({ ...memory.row })) router.go(router.keeping("/memories"))
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

    whatIf: () => store("whatIf").id !== null && store("whatIf").id === memory.id,

    chart: () => trend(memory.row, memory.history, store("clock").now),
  }
}

/** A moment as a field for date and time takes it. @param {Date} time */
function localTime(time) {
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 19)
}

/** @param {Memory} row */
function savedWords({ active }) {
  return active ? "Saved. It is active again: sessions read it." : "Saved. It is inactive now: no session reads it."
}

/** What saving this confidence does to whether sessions read it. @param {Memory} row @param {number} confidence */
function raisedWords({ active, inactive_reason: reason, confidence: before }, confidence) {
  if (confidence < THRESHOLD) return active ? "Below 0.30 it turns inactive: no session reads it." : ""
  if (active || confidence === before) return ""
  return ["low", "operator"].includes(reason ?? "low")
    ? "Saving brings it back: it is active again, and sessions read it."
    : `It stays inactive all the same: ${reason}.`
}

/** @param {string} name @param {number} n */
function choice(name, n) {
  return { name, label: `${name} (${n})` }
}
