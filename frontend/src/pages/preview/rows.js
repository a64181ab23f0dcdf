import { t } from "../../shared/texts/index.js"

/** @typedef {PlacedMemory & {state: "in" | "out" | "falls" | "comes" | "without"}} PreviewRow */

/**
 * Every memory by priority, with its state compared with the current prompt. The order is the same for each budget, so
 * that no row moves with the slider.
 * @param {PromptContext} base @param {PromptContext} variant @param {number[]} without @returns {PreviewRow[]}
 */
export function previewRows(base, variant, without) {
  const baseRows = new Map(placed(base).map((row) => [row.id, row]))
  const variantRows = new Map(placed(variant).map((row) => [row.id, row]))
  return merged([...baseRows.keys()], [...variantRows.keys()]).map((id) => {
    const [baseRow, variantRow] = [baseRows.get(id), variantRows.get(id)]
    const row = /** @type {PlacedMemory} */ (variantRow ?? baseRow)
    return { ...row, position: variantRow?.position, state: stateOf(baseRow, variantRow, without.includes(id)) }
  })
}

/** @param {PromptContext} variant */
function placed({ included, excluded }) {
  return [...included, ...excluded].sort((a, b) => a.rank - b.rank)
}

/** @param {PlacedMemory | undefined} before @param {PlacedMemory | undefined} now @param {boolean} without @returns {PreviewRow["state"]} */
function stateOf(before, now, without) {
  if (without) return "without"
  const [wasIncluded, isIncluded] = [before?.position !== undefined, now?.position !== undefined]
  if (wasIncluded) return isIncluded ? "in" : "falls"
  return isIncluded ? "comes" : "out"
}

/**
 * Merges both orders: an item that is only in the second is placed behind its predecessor there.
 * @param {number[]} first
 * @param {number[]} second
 */
function merged(first, second) {
  const firstIds = new Set(first)
  const insertedAfter = new Map()
  let previousId = /** @type {number | null} */ (null)
  for (const id of second) {
    if (firstIds.has(id)) previousId = id
    else insertedAfter.set(previousId, [...(insertedAfter.get(previousId) ?? []), id])
  }
  return [...(insertedAfter.get(null) ?? []), ...first.flatMap((id) => [id, ...(insertedAfter.get(id) ?? [])])]
}

/** @param {PreviewRow} row */
export function stateWords({ state, position = 0 }) {
  if (state === "in") return t("preview.stateIn", { n: position + 1 })
  if (state === "comes") return t("preview.stateEnters", { n: position + 1 })
  if (state === "falls") return t("preview.stateDrops")
  return state === "without" ? t("preview.stateWithout") : t("preview.stateOut")
}

/** Why a memory is included or not: its subject and, if it is not included, what it lacked. @param {PreviewRow} row */
export function whyWords(row) {
  return [aboutWords(row), row.state === "out" || row.state === "falls" ? lackWords(row) : ""]
    .filter(Boolean)
    .join(" · ")
}

const ABOUT = /** @type {const} */ ({
  focus: "preview.aboutFocus",
  neighbour: "preview.aboutNeighbour",
  general: "preview.aboutGeneral",
  other: "preview.aboutOther",
})

/** @param {PreviewRow} row */
function aboutWords({ circle, service }) {
  return t(ABOUT[circle], { name: service ?? "" })
}

/** @param {PreviewRow} row */
function lackWords({ why, tokens, left }) {
  if (why.includes("turned off")) return t("preview.whyOff")
  if (why.includes("used up") || left <= 0) return t("preview.whyUsed")
  return tokens > left ? t("preview.whyLong", { n: tokens, left }) : t("preview.whyHeading", { left })
}

const DRAWN = 300

/**
 * The budget bar: a segment for each included memory, as wide as its tokens, and one for the headings.
 * @param {PromptContext} variant @param {number} scale
 */
export function segments({ included, tokens }, scale) {
  const drawn = [...included].sort((a, b) => Number(a.position) - Number(b.position)).slice(0, DRAWN)
  const drawnTokens = drawn.reduce((sum, row) => sum + row.tokens, 0)
  const rest = { id: 0, share: Math.max(0, tokens - drawnTokens) / scale }
  return tokens ? [rest, ...drawn.map((row) => ({ id: row.id, share: row.tokens / scale }))] : []
}

const SCALES = [10_000, 100_000, 1_000_000]

/**
 * The maximum of the slider: twice the configured budget, or more for a larger budget.
 * @param {number} budget
 * @param {number} configured
 */
export function scaleOf(budget, configured) {
  const defaultScale = configured ? 2 * configured : 4_000
  return [defaultScale, ...SCALES.filter((scale) => scale > defaultScale)].find((scale) => scale >= budget) ?? 1_000_000
}
