import { REVERSIBLE, THRESHOLD } from "../../../generated/values.js"
import { isOperational, momentOf } from "../format/format.js"
import { clampNote } from "./draft.js"
import { t } from "../texts/index.js"

const STEP = 0.01
const LEAP = 0.1
const KEYS = new Map([
  ["+", STEP],
  ["=", STEP],
  ["-", -STEP],
  ["PageUp", LEAP],
  ["PageDown", -LEAP],
])
/**
 * The fields of a memory, in the form that adds a memory and in the form that edits one.
 * @param {any} form the store of the form @param {string} name prefix that separates its field ids from those of the other form
 */
export function memoryFields(form, name) {
  return {
    get form() {
      return form
    },

    get similar() {
      return form.beside
    },

    idOf: (/** @type {string} */ field) => `${name}-${field}`,
    errorId: (/** @type {string} */ field) => `${name}-${field}-error`,

    /** @param {string} field */
    wrong: (field) => (form.errors[field] ? "true" : null),

    /** The id of the description of a field: its error, or else a hint. @param {string} field @param {string} [hint] */
    about: (field, hint) => (form.errors[field] ? `${name}-${field}-error` : hint ? `${name}-${hint}` : null),

    knowledge: () => !isOperational(form.draft.category),

    /** @param {number} delta */
    nudge(delta) {
      const value = Math.min(1, Math.max(0, Number(form.draft.confidence) + delta))
      form.draft.confidence = Math.round(100 * value) / 100
      form.compare()
    },

    less() {
      this.nudge(-STEP)
    },

    more() {
      this.nudge(STEP)
    },

    /** Keys of the slider and its number field, in addition to the native ones. @param {KeyboardEvent} event */
    pressed(event) {
      const delta = KEYS.get(event.key)
      if (delta === undefined || event.ctrlKey || event.metaKey || event.altKey) return
      event.preventDefault()
      this.nudge(delta)
    },

    /** The effect of this confidence on whether sessions read the memory. */
    hint() {
      return [clampNote(form), this.effect()].filter(Boolean).join(" ")
    },

    effect() {
      const { base, draft } = form
      if (base) return changedWords(base, draft.confidence)
      return draft.confidence < THRESHOLD ? t("memory.below_threshold") : ""
    },

    kept: () => (form.typedAt === null ? "" : t("memory.draft_restored", { at: momentOf(form.typedAt) })),
  }
}

/** @param {Memory} row @param {number} confidence */
function changedWords({ active, inactive_reason: reason, confidence: before }, confidence) {
  if (confidence < THRESHOLD) return active ? t("memory.turns_inactive") : ""
  if (active || confidence === before) return ""
  return !reason || REVERSIBLE.includes(reason)
    ? t("memory.reactivates")
    : t("memory.stays_inactive", { why: reason ?? "" })
}
