import { wordDiff } from "../../shared/format/diff.js"
import { t } from "../../shared/texts/index.js"
import { fieldsOf, tagsOf } from "../../shared/memory-form/draft.js"

const TEXTS = ["observation", "title", "tags", "topic_key"]

/** @typedef {"mine" | "theirs" | "merged"} Choice */
/** @typedef {{name: string, label: string, mine: unknown, was: string, mineParts: import("../../shared/format/diff.js").Part[], theirParts: import("../../shared/format/diff.js").Part[], editable: boolean, choice: Choice, text: string}} Clash */
/** @typedef {{clashes: string[], body: Record<string, unknown>, base: Memory, theirs: Memory}} EditConflict */

/** Two people changed the same field of a memory: the original value, both new values, and the choice between them. */
export function conflict() {
  /** @type {(body: Record<string, unknown>) => Promise<unknown>} */
  let onResolved = async () => {}
  /** @type {Record<string, unknown>} */
  let unconflicted = {}
  return {
    open: false,
    fields: /** @type {Clash[]} */ ([]),

    /** @param {EditConflict} conflict @param {(body: Record<string, unknown>) => Promise<unknown>} callback called with the chosen values */
    ask({ clashes, body, base, theirs }, callback) {
      const [baseFields, theirFields] = [fieldsOf(base), fieldsOf(theirs)]
      onResolved = callback
      unconflicted = Object.fromEntries(Object.entries(body).filter(([name]) => !clashes.includes(name)))
      this.fields = clashes.map((name) => clashOf(name, baseFields[name], body[name], theirFields[name]))
      this.open = true
    },

    /** Choose one side for all fields. @param {Choice} choice */
    all(choice) {
      for (const field of this.fields) field.choice = choice
    },

    async submit() {
      const overrides = this.fields.filter(({ choice }) => choice !== "theirs")
      const entries = overrides.map((field) => [field.name, field.choice === "mine" ? field.mine : valueOf(field)])
      this.open = false
      await onResolved({ ...unconflicted, ...Object.fromEntries(entries) })
    },

    /** Close without a decision: typed text stays in its form. */
    hide() {
      this.open = false
    },
  }
}

/** @param {string} name @param {unknown} was @param {unknown} mine @param {unknown} theirs @returns {Clash} */
function clashOf(name, was, mine, theirs) {
  const [baseText, ourText, theirText] = [was, mine, theirs].map((value) => wordsOf(value))
  return {
    name,
    label: t(/** @type {import("../../shared/texts/index.js").TextKey} */ (`memory.field_${name}`)),
    mine,
    was: baseText,
    mineParts: wordDiff(baseText, ourText),
    theirParts: wordDiff(baseText, theirText),
    editable: TEXTS.includes(name),
    choice: "mine",
    text: name === "topic_key" && mine === null ? "" : ourText,
  }
}

/** @param {Clash} clash */
function valueOf({ name, text }) {
  if (name === "tags") return tagsOf(text)
  return name === "topic_key" ? text.trim() || null : text.trim()
}

/** A display text of a field's value. @param {unknown} value */
export function wordsOf(value) {
  if (typeof value === "boolean") return t(value ? "memory.yes" : "memory.no")
  if (typeof value === "number") return value.toFixed(2)
  const text = Array.isArray(value) ? value.join(", ") : String(value ?? "")
  return text || t("memory.none")
}
