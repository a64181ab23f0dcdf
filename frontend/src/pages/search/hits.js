import { LAYERS } from "../../../generated/values.js"
import { briefly } from "../../shared/format/diff.js"

const LONGEST = 420

/** The row of a hit. @param {Hit} hit @returns {any} */
export function rowOf({ layer, memory, session, page, event }) {
  return { memory, session, page, event }[layer] ?? null
}

/** The unique key of a hit. @param {Hit} hit */
export function keyOf(hit) {
  return `${hit.layer} ${rowOf(hit)?.id}`
}

/**
 * Splits a text at the matched words and shortens long stretches without a match. The positions count characters, not
 * UTF-16 code units.
 * @param {string} text @param {[number, number][]} spans
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

/**
 * Hits grouped by layer in their order; layers that were not searched are left out.
 * @param {Hit[]} hits
 * @param {string[]} searchedLayers
 */
export function byLayer(hits, searchedLayers) {
  return LAYERS.filter((layer) => searchedLayers.includes(layer) || hits.some((hit) => hit.layer === layer)).map(
    (layer) => ({
      layer,
      hits: hits.filter((hit) => hit.layer === layer),
    }),
  )
}
