import { THRESHOLD, count, serviceName } from "../format.js"
import { reviewsPage } from "./reviews-page.js"
import { cooldownsPage } from "./cooldowns-page.js"
import { overviewPage } from "./overview-page.js"
import { trend } from "./trend.js"
import { attempt } from "./attempt.js"

const CONTROLS = "a, button, input, select, label"

/** The data of each page: what a click there means. @param {any} Alpine */
export function pages(Alpine) {
  const store = (/** @type {string} */ name) => Alpine.store(name)
  Alpine.data("memoriesPage", () => memoriesPage(store))
  Alpine.data("eventsPage", () => eventsPage(store))
  Alpine.data("sessionsPage", () => sessionsPage(store))
  Alpine.data("sessionPage", () => sessionPage(store))
  Alpine.data("overviewPage", () => overviewPage(store))
  Alpine.data("cooldownsPage", () => cooldownsPage(store, () => revealIn(store("uses"))))
  Alpine.data("reviewsPage", () => reviewsPage(store, () => revealIn(store("reviews"))))
  Alpine.data("besideNew", () => beside(store("addMemory")))
  Alpine.data("besideEdit", () => beside(store("memory")))
  Alpine.data("sessionHead", () => ({
    get session() {
      return store("session").row
    },
  }))
}

/** What we hold already of what a form says. @param {any} form */
function beside(form) {
  return {
    get similar() {
      return form.beside
    },
  }
}

/** Show what waited and put the focus on the first of it. @param {any} list */
function revealIn(list) {
  const [first] = list.reveal()
  if (first) setTimeout(() => /** @type {HTMLElement} */ (document.querySelector("tr.is-fresh [data-row]"))?.focus())
}

/** A click on a row opens it; a click on something in it is its own. @param {Event} click */
function onControl(click) {
  return Boolean(/** @type {Element} */ (click.target).closest(CONTROLS)) || String(getSelection()) !== ""
}

/** @param {(name: string) => any} store */
function memoriesPage(store) {
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

/** @param {(name: string) => any} store */
function eventsPage(store) {
  return {
    reveal: () => revealIn(store("events")),
    serviceChoices: () => ["general", ...store("services").names],
    remember: (/** @type {OpsEvent} */ event) => remember(store, event),
  }
}

/** @param {(name: string) => any} store @param {OpsEvent} event */
function remember(store, event) {
  store("addMemory").show({ observation: event.text, service: event.service ?? "" })
}

/** @param {(name: string) => any} store */
function sessionsPage(store) {
  const [sessions, requests, router] = ["sessions", "requests", "router"].map(store)
  return {
    reveal: () => revealIn(sessions),

    /** @param {Session} row */
    rowClass: (row) => ({ "is-fresh": sessions.fresh[row.id], "is-running": row.status === "running" }),

    /** @param {Session} row @param {Event} click */
    openRow(row, click) {
      if (!onControl(click)) router.go(`/sessions/${row.id}`)
    },

    /** @param {RunRequest} request */
    cancel: (request) => attempt(store, () => requests.cancel(request.id)),
  }
}

/** @param {(name: string) => any} store */
function sessionPage(store) {
  const [session, log] = ["session", "log"].map(store)
  return {
    reason: () => session.row?.reason ?? "",
    stopping: () => Boolean(session.row?.stopping),
    stop: () => attempt(store, () => session.stop()),
    take: (/** @type {Marker} */ marker) => attempt(store, () => session.takeMarker(marker)),
    remember: (/** @type {OpsEvent} */ event) => remember(store, event),

    logWords() {
      const lines = count(log.size, "line")
      return log.problem && log.size ? `${lines}. ${log.problem}` : lines
    },

    followWords() {
      if (log.following) return "Following"
      return log.unread ? count(log.unread, "new line") : "Paused"
    },

    toggleFollow: () => (log.following ? log.pause() : log.follow()),

    /** @param {Marker} marker */
    showLine({ offset, index, line }) {
      const key = `${offset}:${index}:${line}`
      if (log.find(key)) requestAnimationFrame(() => requestAnimationFrame(() => point(key)))
    },

    budgetWords() {
      const { tokens, budget } = session.told
      return budget ? `${tokens.toLocaleString("en")} of ${budget.toLocaleString("en")} tokens` : ""
    },

    budgetShare: () => (session.told.budget ? session.told.tokens / session.told.budget : 0),
  }
}

/** @param {string} key */
function point(key) {
  const line = document.querySelector(`.line[data-key="${key}"]`)
  line?.scrollIntoView({ block: "center" })
  line?.classList.add("is-fresh")
  setTimeout(() => line?.classList.remove("is-fresh"), 2_400)
}
