import { focusOn } from "../../shared/browser/focus.js"
import { focusField, rowOf } from "./commands.js"
import { NUMBERED } from "./curate.js"
import { ago, confidence, exact, serviceName, stateWords } from "../../shared/format/format.js"
import { VIEWS } from "../../../generated/values.js"
import { UNCLAMPED, clampConfidence } from "../../shared/memory-form/draft.js"
import { t } from "../../shared/texts/index.js"
import { focusList, onControl, revealIn } from "../../shared/directives/rows.js"

const DOUBLE_MS = 180

/** @param {(name: string) => any} store */
export function memoriesPage(store) {
  const [memories, memory, curate, router, rowEdit] = ["memories", "memory", "curate", "router", "rowEdit"].map(store)
  const chosenRows = () =>
    memories.rows
      .filter((/** @type {Memory} */ row) => memories.chosen[row.id])
      .map((/** @type {Memory} */ row) => ({ ...row }))
  let openTimer = /** @type {any} */ (undefined)
  return {
    act: "confidence",
    /** The row that was just clicked. */
    pressed: /** @type {number | null} */ (null),
    picking: false,
    value: "0.5",
    valueNote: "",

    reveal: () => revealIn(memories),

    serviceChoices() {
      const selected = memories.filters.service
      const choices = memories.facets.services.map((/** @type {any} */ facet) =>
        choice(serviceName(facet.service), facet.count),
      )
      return !selected || choices.some((/** @type {any} */ item) => item.name === selected)
        ? choices
        : [...choices, choice(selected, 0)]
    },

    categoryChoices() {
      const selected = memories.filters.category
      const choices = memories.facets.categories.map((/** @type {any} */ facet) => choice(facet.category, facet.count))
      return !selected || choices.some((/** @type {any} */ item) => item.name === selected)
        ? choices
        : [...choices, choice(selected, 0)]
    },

    projectChoices() {
      const selected = memories.filters.project
      const choices = (memories.facets.projects ?? []).map((/** @type {any} */ facet) =>
        choice(facet.project, facet.count),
      )
      return !selected || choices.some((/** @type {any} */ item) => item.name === selected)
        ? choices
        : [...choices, choice(selected, 0)]
    },

    /** @param {Memory} row */
    rowClass(row) {
      return {
        "is-off": !row.active,
        "is-open": row.id === memory.id || (memory.id === null && row.id === this.pressed),
        "is-chosen": memories.chosen[row.id],
        "is-edited": row.id === rowEdit.id,
        "is-fresh": memories.fresh[row.id],
        "is-leaving": memories.leaving[row.id],
      }
    },

    /** The contents of a row's cells. @param {Memory} row */
    cells(row) {
      const { id, session_id: session, updated_at: at } = row
      return {
        check: {
          "aria-label": t("memories.selectOne", { id: String(id) }),
          disabled: memories.historical,
          checked: memories.everything || Boolean(memories.chosen[id]),
        },
        service: { text: serviceName(row.service), class: row.service ? "c-service" : "c-service is-general" },
        category: { text: row.category },
        observation: {
          text: [row.title, row.observation].filter(Boolean).join(" · "),
          href: router.keeping(`/memories/${id}`),
          title: row.observation,
        },
        confidence: { text: confidence(row.confidence) },
        meter: { share: row.confidence },
        state: {
          text: t(
            row.active ? (row.trust === "unverified" ? "memories.unverified" : "memories.active") : "memories.inactive",
          ),
          title: stateWords(row),
          "data-state": row.active ? "on" : "off",
        },
        updated: { text: ago(at, store("clock").now), title: exact(at), datetime: at },
        session: {
          text: session ? `#${session}` : "",
          href: session ? `/sessions/${session}` : null,
          hidden: !session,
        },
        manual: {
          hidden: Boolean(session),
          text: row.source === "operator" ? t("common.manual") : row.source,
        },
      }
    },

    /**
     * One click opens the memory, after a short delay: a double click edits it in place.
     * @param {Memory} row
     * @param {MouseEvent} click
     */
    openRow(row, click) {
      const link = /** @type {Element} */ (click.target).closest("a[data-row]")
      if (click.ctrlKey || click.metaKey || click.shiftKey || (!link && onControl(click))) return
      click.preventDefault()
      clearTimeout(openTimer)
      if (click.detail > 1 || rowEdit.id === row.id) return
      this.pressed = row.id
      const open = () => {
        router.go(router.keeping(`/memories/${row.id}`))
        this.pressed = null
      }
      if (click.detail === 0) open()
      else openTimer = setTimeout(open, DOUBLE_MS)
    },

    sessionWords: () => t("memories.ofSession", { id: memories.filters.session }),

    views: () =>
      VIEWS.map((name) => ({
        name,
        label: t(`memories.${name}`),
        n: memories.views[name] === undefined ? "" : inNumber(memories.views[name]),
      })),

    /** @param {string} name */
    viewAddress: (name) => router.with({ view: memories.filters.view === name ? "" : name }),

    inNumber,

    turnWords: () => t(memories.order === "asc" ? "memories.ascending" : "memories.descending"),
    editWords: (/** @type {Memory} */ { id }) => t("memories.editOne", { id: String(id) }),
    chosenWords: () => t("memories.selected", { n: memories.chosenCount }),
    toggleWords: () => t(memories.chosenCount > 0 ? "memories.selectNone" : "memories.select"),

    /** Tick one more row, or with Shift all rows up to it. @param {Memory} row @param {MouseEvent} click */
    tick({ id }, click) {
      if (click.shiftKey) memories.chooseTo(id)
      else memories.choose(id, /** @type {HTMLInputElement} */ (click.target).checked)
    },

    /** @param {MouseEvent} click */
    editHere(click) {
      const row = rowOf(memories, /** @type {Element} */ (click.target))
      const element = /** @type {Element} */ (click.target)
      if (!row || memories.historical || element.closest("form, button, input")) return
      clearTimeout(openTimer)
      this.pressed = null
      getSelection()?.removeAllRanges()
      rowEdit.start({ ...row })
      const cell = element.closest("td")?.className ?? ""
      const field = ["confidence", "category", "service"].find((name) => cell.includes(`c-${name}`))
      setTimeout(() => focusField(field ?? "observation"))
    },

    /** @param {KeyboardEvent} event */
    async editKey(event) {
      const { key, target } = event
      const { edit } = /** @type {HTMLElement} */ (target).dataset
      const delta = { "+": 0.05, "=": 0.05, "-": -0.05 }[key]
      if (key === "Escape") this.leaveEdit(event)
      else if (key === "Enter" && edit && !event.shiftKey && !event.isComposing) this.saveEdit(event)
      else if (delta && edit?.startsWith("confidence")) {
        event.preventDefault()
        rowEdit.nudge(delta)
      }
    },

    /** @param {Event} event */
    async saveEdit(event) {
      event.preventDefault()
      const { id } = rowEdit
      const saving = rowEdit.save()
      if (rowEdit.id === null) focusList(id)
      if (!(await saving)) setTimeout(() => focusField(rowEdit.errors.confidence ? "confidence" : "observation"))
    },

    /** @param {Event} event */
    leaveEdit(event) {
      event.preventDefault()
      event.stopPropagation()
      const { id } = rowEdit
      rowEdit.giveUp()
      focusList(id)
    },

    async deleteChosen() {
      if (await curate.removeMany(chosenRows())) focusList()
    },

    /** Clamp a number outside 0 to 1, with a note. */
    clampValue() {
      const form = { draft: /** @type {any} */ ({ confidence: this.value }), clamped: UNCLAMPED }
      clampConfidence(form)
      this.value = `${form.draft.confidence}`
      this.valueNote = form.clamped.note || this.valueNote
    },

    changeChosen() {
      if (this.needsValue()) this.clampValue()
      if (this.needsValue() && Number.isNaN(parseFloat(this.value))) return (this.valueNote = t("memory.number"))
      return curate.change(chosenRows(), this.act, Number(this.value), focusList)
    },

    needsValue() {
      return NUMBERED.has(this.act)
    },

    /** Open the field for a point in time, and focus it. */
    pick() {
      this.picking = true
      focusOn("input[type=datetime-local]")
    },

    /** Show the list as of this time; an empty text means now. @param {string} local */
    goTo(local) {
      this.picking = false
      router.go(router.with({ as_of: local ? new Date(local).toISOString() : "" }))
    },

    moment: () => (memories.historical ? localTime(new Date(memories.filters.as_of)) : ""),
    atMost: () => localTime(new Date(store("clock").now)),

    toggleShown: () => memories.chooseAll(memories.chosenCount === 0),

    everyShown: () => t("memories.shownSelected", { n: memories.chosenIds.length }),
    everyMatch: () => t("memories.selectAll", { n: memories.total ?? 0 }),
  }
}

/** Some counts are unknown for a time in the past; they are hidden then. @param {number | undefined} n */
function inNumber(n) {
  return n === undefined ? "" : n.toLocaleString("en")
}

/** A time in the format of a datetime-local field. @param {Date} time */
function localTime(time) {
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 19)
}

/** @param {string} name @param {number} n */
function choice(name, n) {
  return { name, label: `${name} (${n})` }
}
