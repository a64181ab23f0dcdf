import { focusOn } from "../../shared/browser/focus.js"
import { copy } from "../../shared/browser/clipboard.js"
import { RANGES } from "./range.js"
import { localTime, momentOf } from "../../shared/format/local-time.js"
import { t } from "../../shared/texts/index.js"
import { remember } from "../../shared/parts/remember-link.js"
import { revealIn } from "../../shared/directives/rows.js"

/** @param {(name: string) => any} store */
export function eventsPage(store) {
  const [events, groups, density, router] = ["events", "eventGroups", "density", "router"].map(store)
  return {
    get list() {
      return events.list
    },

    reveal: () => revealIn(events.list),
    serviceChoices: () => ["general", ...store("services").names],
    remember: (/** @type {OpsEvent} */ event) => remember(store, event),
    dropLabel: () => t("events.dropSession", { id: events.filters.session }),
    group: () => router.go(router.with({ group: events.grouped ? "" : "1" })),

    /** The bars of the histogram, most severe first. */
    spec() {
      const { x, all, bad, worst } = density.bars
      const series = [
        { values: all, role: "edge", kind: "bars" },
        { values: bad, role: "warn", kind: "bars" },
        { values: worst, role: "bad", kind: "bars" },
      ]
      const chooseRange = (/** @type {number} */ from, /** @type {number} */ to) => events.choose(from, to)
      return x.length ? { x, series, range: density.range, y: { min: 0 }, choose: chooseRange } : null
    },

    ranges: () => RANGES.map(({ key }) => ({ key, words: t(/** @type {any} */ (`events.${key}`)) })),

    /** A custom range is being entered: its two fields are visible. */
    picking: false,

    get showsRange() {
      return this.picking || events.ranged
    },

    /** @param {string} key */
    lately(key) {
      this.picking = key === "chosen"
      if (!this.picking) events.lately(key, Date.now())
      else focusOn(".when-range input")
    },

    from: () => localTime(events.filters.from),
    to: () => localTime(events.filters.to),
    setFrom: (/** @type {string} */ value) => events.filter({ from: momentOf(value) }),
    setTo: (/** @type {string} */ value) => events.filter({ to: momentOf(value) }),
    zoom: () => density.busiest && events.filter({ from: density.busiest.from, to: density.busiest.to }),
    busiestWords: () => density.busiest?.words ?? "",

    times: (/** @type {any} */ group) => t("events.times", { n: group.count }),
    isUnfolded: (/** @type {any} */ group) => Boolean(groups.unfolded[group.id]),
    held: (/** @type {any} */ group) => groups.unfolded[group.id] ?? NOTHING,
    unfoldLabel: (/** @type {any} */ group) =>
      t(groups.unfolded[group.id] ? "events.hide" : "events.show", { n: group.count }),
    others: (/** @type {any} */ group) => `+${(group.sessions - 1).toLocaleString("en")}`,
    othersTitle: (/** @type {any} */ group) => t("events.others", { n: group.sessions - 1 }),
    newer: (/** @type {any} */ group) => t("events.newer", { n: groups.behind(group) }),

    linkedTitle: () => t("events.linked", { id: events.linkedId }),
    close: () => router.go(router.with({ event: "" }), { replace: true }),
    isLinked: (/** @type {OpsEvent} */ event) => String(event.id) === events.linkedId,

    /** @param {number} id */
    async copyLink(id) {
      const link = `${location.origin}/events?event=${id}`
      store("toasts").show((await copy(link)) ? t("events.copied") : t("events.notCopied", { link }))
    },
  }
}

const NOTHING = { phase: "closed", problem: "", rows: [], next: null }
