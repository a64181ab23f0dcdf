import { LAYERS } from "../../../generated/values.js"
import { briefly } from "../../shared/format/diff.js"

const LONGEST = 420

/** The row that was found. @param {Hit} hit @returns {any} */
export function rowOf({ layer, memory, session, page, event }) {
  return { memory, session, page, event }[layer] ?? null
}

/** What tells one from another. @param {Hit} hit */
export function keyOf(hit) {
  return `${hit.layer} ${rowOf(hit)?.id}`
}

/**
 * A text in its parts, the words that were looked for as such; long stretches without any are cut down. The positions
 * count characters, not the halves that this language counts. @param {string} text @param {[number, number][]} spans
 * @returns {import("../../shared/format/diff.js").Part[]}
 */
export function marked(text, spans) {
  const letters = [...text]
  /** @type {import("../../shared/format/diff.js").Part[]} */
  const parts = []
  let at = 0
  for (const [from, to] of [...spans].sort((a, b) => a[0] - b[0])) {
    const [start, end] = [Math.max(at, from), Math.min(letters.length, to)]
    if (end <= start) continue
    if (start > at) parts.push({ kind: "same", text: letters.slice(at, start).join("") })
    parts.push({ kind: "hit", text: letters.slice(start, end).join("") })
    at = end
  }
  if (!parts.length) return [{ kind: "same", text: shortened(letters) }]
  if (at < letters.length) parts.push({ kind: "same", text: letters.slice(at).join("") })
  return briefly(parts)
}

/** @param {string[]} letters */
function shortened(letters) {
  return letters.length > LONGEST ? `${letters.slice(0, LONGEST).join("")}…` : letters.join("")
}

/** Under its layer each hit in the order it was found; a layer that was not asked is not there. @param {Hit[]} hits @param {string[]} asked */
export function byLayer(hits, asked) {
  return LAYERS.filter((layer) => asked.includes(layer) || hits.some((hit) => hit.layer === layer)).map((layer) => ({
    layer,
    hits: hits.filter((hit) => hit.layer === layer),
  }))
}
