import { NEW_MEMORY } from "../../../generated/values.js"
import { confidence, isOperational } from "../format/format.js"
import { localTime, momentOf } from "../format/local-time.js"
import { t } from "../texts/index.js"

/** The initial values of a form. Knowledge has additional fields, which retain their text when the category changes. */
export const BLANK = {
  category: "behavior",
  service: "",
  observation: "",
  title: "",
  tags: "",
  topic_key: "",
  expires: "",
  ...NEW_MEMORY,
}

/** @typedef {typeof BLANK} MemoryDraft */

/** A memory as the values of a form. @param {Partial<Memory>} memory @returns {MemoryDraft} */
export function draftOf({ observation, category, service, confidence: value, title, tags, project, scope, ...memory }) {
  return {
    observation: observation ?? "",
    category: category ?? BLANK.category,
    service: service ?? "",
    confidence: value ?? BLANK.confidence,
    title: title ?? "",
    tags: (tags ?? []).join(", "),
    project: project ?? BLANK.project,
    scope: scope ?? BLANK.scope,
    topic_key: memory.topic_key ?? "",
    expires: memory.expires_at ? localTime(memory.expires_at).slice(0, 10) : "",
  }
}

/** The values of a form as the API accepts them. @param {MemoryDraft} draft @returns {Record<string, unknown>} */
export function payload(draft) {
  return isOperational(draft.category) ? plain(draft) : { ...plain(draft), ...ofKnowledge(draft) }
}

/**
 * Only the changed fields are sent, so that an edit of the text does not set the confidence. A memory that becomes
 * operational loses its topic key, project, expiry and global scope.
 * @param {MemoryDraft} draft @param {Memory} memory
 */
export function edits(draft, memory) {
  const savedFields = fieldsOf(memory)
  const becomesOperational = isOperational(draft.category) && !isOperational(memory.category)
  const clearedFields = becomesOperational
    ? { project: BLANK.project, scope: BLANK.scope, topic_key: null, expires_at: null }
    : {}
  return Object.fromEntries(
    Object.entries({ ...clearedFields, ...payload(draft) }).filter(([name, value]) => !same(value, savedFields[name])),
  )
}

/**
 * The editable fields of a memory, as the API accepts them.
 * @param {Memory} memory
 * @returns {Record<string, unknown>}
 */
export function fieldsOf(memory) {
  const draft = draftOf(memory)
  return { ...plain(draft), ...ofKnowledge(draft), active: memory.active, pinned: memory.pinned }
}

/** @param {unknown} left @param {unknown} right */
export function same(left, right) {
  return JSON.stringify(left) === JSON.stringify(right)
}

/**
 * Errors that need no request: a missing text, or an invalid number.
 * @param {MemoryDraft} draft
 * @returns {Record<string, string>}
 */
export function wrongIn({ observation, confidence: typedValue }) {
  const number = parseFloat(String(typedValue))
  return {
    ...(observation.trim() ? {} : { observation: t("memory.empty") }),
    ...(number >= 0 && number <= 1 ? {} : { confidence: t("memory.number") }),
  }
}

/** No confidence was clamped. */
export const UNCLAMPED = { to: NaN, note: "" }

/**
 * Clamp a typed confidence to 0 to 1. The form shows a note as long as the clamped value remains.
 * @param {{draft: MemoryDraft, clamped: typeof UNCLAMPED}} form
 */
export function clampConfidence(form) {
  const typedValue = parseFloat(String(form.draft.confidence))
  if (Number.isNaN(typedValue) || (typedValue >= 0 && typedValue <= 1)) return
  const clamped = typedValue < 0 ? 0 : 1
  form.draft.confidence = clamped
  form.clamped = { to: clamped, note: t("memory.clamped", { typed: String(typedValue), to: confidence(clamped) }) }
}

/** @param {{draft: MemoryDraft, clamped: typeof UNCLAMPED}} form */
export function clampNote({ draft, clamped }) {
  return draft.confidence === clamped.to ? clamped.note : ""
}

/**
 * The unsaved draft of a row, on the version that it was begun on.
 * @param {ReturnType<typeof import("./drafts.js").drafts>} drafts @param {Memory} row
 */
export function resumed(drafts, row) {
  const savedDraft = drafts.of(row.id)
  // a draft begun on a later version than the loaded row waits for that version
  if (!savedDraft || savedDraft.version > row.version) return null
  const base =
    savedDraft.version === row.version ? row : { ...row, ...asTyped(savedDraft.base), version: savedDraft.version }
  const savedFields = /** @type {any} */ (savedDraft.draft)
  const draft = readDraft(
    typeof savedFields?.confidence === "number" ? savedFields : { ...savedFields, confidence: base.confidence },
  )
  if (Object.keys(edits(draft, base)).length) return { base, draft, at: savedDraft.at }
  drafts.drop(row.id, savedDraft.version)
  return null
}

/** The fields of a row at the time its draft was begun. @param {unknown} savedDraft @returns {any} */
function asTyped(savedDraft) {
  const draft = readDraft(savedDraft)
  return { ...payload({ ...draft, category: "decision" }), category: draft.category }
}

/**
 * A stored draft with every field validated: a field of the wrong type becomes blank.
 * @param {any} savedDraft
 * @returns {MemoryDraft}
 */
export function readDraft(savedDraft) {
  const validFields = Object.entries(BLANK).filter(([name, blank]) => typeof savedDraft?.[name] === typeof blank)
  return { ...BLANK, ...Object.fromEntries(validFields.map(([name]) => [name, savedDraft[name]])) }
}

/** @param {MemoryDraft} draft */
function plain({ observation, category, service, confidence: sure }) {
  const name = service.trim()
  return {
    observation: observation.trim(),
    category,
    service: name === "" || name.toLowerCase() === "general" ? null : name,
    confidence: Number(sure),
  }
}

/** @param {MemoryDraft} draft */
function ofKnowledge({ title, tags, project, scope, topic_key: topic, expires }) {
  return {
    title: title.trim(),
    tags: tagsOf(tags),
    project: project.trim().toLowerCase() || BLANK.project,
    scope,
    topic_key: topic.trim() || null,
    expires_at: momentOf(`${expires}T00:00`) || null,
  }
}

/** @param {string} text */
export function tagsOf(text) {
  return [
    ...new Set(
      text
        .split(",")
        .map((tag) => tag.trim())
        .filter(Boolean),
    ),
  ]
}
