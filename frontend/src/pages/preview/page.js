import { copy } from "../../shared/browser/clipboard.js"
import { exact } from "../../shared/format/format.js"
import { localTime, momentOf } from "../../shared/format/local-time.js"
import { stateWords, whyWords } from "./rows.js"
import { t } from "../../shared/texts/index.js"

/** @param {(name: string) => any} store */
export function previewPage(store) {
  const preview = store("preview")
  return {
    retry: () => preview.load(),
    tiers: () => [1, 2, 3],
    serviceChoices: () => store("services").names.filter((/** @type {string} */ name) => !isRequested(name)),
    serviceLabel: () => t(preview.query.services.length ? "preview.another" : "preview.allServices"),
    removeLabel: (/** @type {string} */ name) => t("preview.removeService", { name }),
    unknownWords: () => t("preview.unknown", { names: preview.unknown.join(", ") }),
    thenWords: () => t("preview.then", { at: exact(preview.query.as_of) }),

    find: (/** @type {string} */ q) => preview.found.type(q, preview.query),
    waysTitle: (/** @type {{ways: string[]}} */ { ways }) => t("memory.ways", { n: ways.length }),

    /** @param {HTMLSelectElement} select */
    add(select) {
      preview.addService(select.value)
      select.value = ""
    },

    /** The point in time from the address in the format of its field, in the local time zone. */
    asOf: () => localTime(preview.query.as_of),
    atMost: () => localTime(new Date(store("clock").now).toISOString()),

    /** @param {string} value */
    goTo(value) {
      preview.set({ as_of: momentOf(value) })
    },

    inForceWords: () => t("preview.active", { n: preview.base.in_force }),
    inForceShare: () => preview.base.in_force / preview.scale,
    budgetShare: () => preview.budget / preview.scale,
    step: () => Math.max(1, Math.round(preview.scale / 200)),

    /** @param {import("./rows.js").PreviewRow} row */
    rowState: (row) => stateWords(row),
    /** @param {import("./rows.js").PreviewRow} row */
    rowWhy: (row) => whyWords(row),
    /** @param {import("./rows.js").PreviewRow} row */
    tokens: (row) => t("preview.tokens", { n: row.tokens }),
    /** @param {import("./rows.js").PreviewRow} row */
    withLabel: (row) => t("preview.include", { id: String(row.id) }),
    isIncluded: (/** @type {number} */ id) => !preview.query.without.includes(id),
    moreWords: () => t("preview.more", { n: preview.rows.length - preview.shown.length }),
    more: () => (preview.shownRows += 100),

    /** @param {number | null} id */
    light: (id) => (preview.lit = id || null),
    isLit: (/** @type {number | null} */ id) => id !== null && id === preview.lit,

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
    return preview.query.services.includes(name)
  }
}
