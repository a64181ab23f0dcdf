import { copy } from "../../shared/browser/clipboard.js"
import { exact } from "../../shared/format/format.js"
import { localTime, momentOf } from "../../shared/format/local-time.js"
import { stateWords, whyWords } from "./rows.js"
import { t } from "../../shared/texts/index.js"

/** @param {(name: string) => any} store */
export function previewPage(store) {
  const own = store("preview")
  return {
    retry: () => own.load(),
    tiers: () => [1, 2, 3],
    serviceChoices: () => store("services").names.filter((/** @type {string} */ name) => !isRequested(name)),
    serviceLabel: () => t(own.query.services.length ? "preview.another" : "preview.allServices"),
    removeLabel: (/** @type {string} */ name) => t("preview.removeService", { name }),
    unknownWords: () => t("preview.unknown", { names: own.unknown.join(", ") }),
    thenWords: () => t("preview.then", { at: exact(own.query.as_of) }),

    find: (/** @type {string} */ q) => own.found.type(q, own.query),
    waysTitle: (/** @type {{ways: string[]}} */ { ways }) => t("memory.ways", { n: ways.length }),

    /** @param {HTMLSelectElement} select */
    add(select) {
      own.addService(select.value)
      select.value = ""
    },

    /** The point in time from the address in the format of its field, in the local time zone. */
    asOf: () => localTime(own.query.as_of),
    atMost: () => localTime(new Date(store("clock").now).toISOString()),

    /** @param {string} value */
    goTo(value) {
      own.set({ as_of: momentOf(value) })
    },

    inForceWords: () => t("preview.active", { n: own.base.in_force }),
    inForceShare: () => own.base.in_force / own.scale,
    budgetShare: () => own.budget / own.scale,
    step: () => Math.max(1, Math.round(own.scale / 200)),

    /** @param {import("./rows.js").PreviewRow} row */
    rowState: (row) => stateWords(row),
    /** @param {import("./rows.js").PreviewRow} row */
    rowWhy: (row) => whyWords(row),
    /** @param {import("./rows.js").PreviewRow} row */
    tokens: (row) => t("preview.tokens", { n: row.tokens }),
    /** @param {import("./rows.js").PreviewRow} row */
    withLabel: (row) => t("preview.include", { id: String(row.id) }),
    isIncluded: (/** @type {number} */ id) => !own.query.without.includes(id),
    moreWords: () => t("preview.more", { n: own.rows.length - own.shown.length }),
    more: () => (own.shownRows += 100),

    /** @param {number | null} id */
    light: (id) => (own.lit = id || null),
    isLit: (/** @type {number | null} */ id) => id !== null && id === own.lit,

    /** @param {string} text */
    size: (text) =>
      t("preview.size", { bytes: new TextEncoder().encode(text).length, tokens: Math.ceil(text.length / 4) }),

    /** @param {string} text */
    async copy(text) {
      store("toasts").show((await copy(text)) ? t("preview.copied") : t("preview.notCopied"))
    },
  }

  /** @param {string} name */
  function isRequested(name) {
    return own.query.services.includes(name)
  }
}
