import { isOperational } from "../format.js"

/** What a form begins with. A form of knowledge has fields more; what was typed there outlives another category. */
export const BLANK = {
  category: "behavior",
  service: "",
  observation: "",
  confidence: 0.7,
  title: "",
  tags: "",
  scope: "project",
  topic_key: "",
}

/** @typedef {typeof BLANK} MemoryDraft */

/** A memory as a form shows it. @param {Partial<Memory>} memory @returns {MemoryDraft} */
export function draftOf({ observation, category, service, confidence, title, tags, scope, topic_key }) {
  return {
    observation: observation ?? "",
    category: category ?? BLANK.category,
    service: service ?? "",
    confidence: confidence ?? BLANK.confidence,
    title: title ?? "",
    tags: (tags ?? []).join(", "),
    scope: scope ?? BLANK.scope,
    topic_key: topic_key ?? "",
  }
}

/** What a form says, as the API takes it. @param {MemoryDraft} draft @returns {Record<string, unknown>} */
export function payload(draft) {
  return isOperational(draft.category) ? plain(draft) : { ...plain(draft), ...ofKnowledge(draft) }
}

/**
 * Only what differs travels, so that an edit of the text says nothing about the confidence. What turns operational
 * leaves its topic and its wide scope behind. @param {MemoryDraft} draft @param {Memory} memory
 */
export function edits(draft, memory) {
  const held = fieldsOf(memory)
  const left = isOperational(draft.category) ? { scope: BLANK.scope, topic_key: null } : {}
  return Object.fromEntries(
    Object.entries({ ...left, ...payload(draft) }).filter(([name, value]) => !same(value, held[name])),
  )
}

/** Each field of a memory that somebody can edit, as the API takes it. @param {Memory} memory @returns {Record<string, unknown>} */
export function fieldsOf(memory) {
  const draft = draftOf(memory)
  return { ...plain(draft), ...ofKnowledge(draft), active: memory.active, pinned: memory.pinned }
}

/** @param {unknown} one @param {unknown} other */
export function same(one, other) {
  return JSON.stringify(one) === JSON.stringify(other)
}

/** What was kept of a draft, whatever was kept: each field is of its kind, or it is blank. @param {any} kept @returns {MemoryDraft} */
export function readDraft(kept) {
  const known = Object.entries(BLANK).filter(([name, blank]) => typeof kept?.[name] === typeof blank)
  return { ...BLANK, ...Object.fromEntries(known.map(([name]) => [name, kept[name]])) }
}

/** @param {MemoryDraft} draft */
function plain({ observation, category, service, confidence }) {
  const name = service.trim()
  return {
    observation: observation.trim(),
    category,
    service: name === "" || name.toLowerCase() === "general" ? null : name,
    confidence: Number(confidence),
  }
}

/** @param {MemoryDraft} draft */
function ofKnowledge({ title, tags, scope, topic_key: topic }) {
  return { title: title.trim(), tags: tagsOf(tags), scope, topic_key: topic.trim() || null }
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
