import { t } from "../../shared/texts/index.js"

/** @typedef {PlacedMemory & {state: "in" | "out" | "falls" | "comes" | "without"}} PreviewRow */

/**
 * Every memory by priority, with its state compared with the current prompt. The order is the same for each budget, so
 * that no row moves with the slider.
 * @param {PromptContext} base @param {PromptContext} variant @param {number[]} without @returns {PreviewRow[]}
 */
export function previewRows(base, variant, without) {
  const was = new Map(placed(base).map((each) => [each.id, each]))
  const is = new Map(placed(variant).map((each) => [each.id, each]))
  return merged([...was.keys()], [...is.keys()]).map((id) => {
    const [before, now] = [was.get(id), is.get(id)]
    const row = /** @type {PlacedMemory} */ (now ?? before)
    return { ...row, position: now?.position, state: stateOf(before, now, without.includes(id)) }
  })
}

/** @param {PromptContext} variant */
function placed({ included, excluded }) {
  return [...included, ...excluded].sort((a, b) => a.rank - b.rank)
}

/** @param {PlacedMemory | undefined} before @param {PlacedMemory | undefined} now @param {boolean} without @returns {PreviewRow["state"]} */
function stateOf(before, now, without) {
  if (without) return "without"
  const [was, is] = [before?.position !== undefined, now?.position !== undefined]
  if (was) return is ? "in" : "falls"
  return is ? "comes" : "out"
}

/**
 * Merges both orders: an item that is only in the second is placed behind its predecessor there.
 * @param {number[]} first
 * @param {number[]} second
 */
function merged(first, second) {
  const held = new Set(first)
  const behind = new Map()
  let last = /** @type {number | null} */ (null)
  for (const id of second) {
    if (held.has(id)) last = id
    else behind.set(last, [...(behind.get(last) ?? []), id])
  }
  return [...(behind.get(null) ?? []), ...first.flatMap((id) => [id, ...(behind.get(id) ?? [])])]
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
  const shown = [...included].sort((a, b) => Number(a.position) - Number(b.position)).slice(0, DRAWN)
  const own = shown.reduce((sum, each) => sum + each.tokens, 0)
  const rest = { id: 0, share: Math.max(0, tokens - own) / scale }
  return tokens ? [rest, ...shown.map((each) => ({ id: each.id, share: each.tokens / scale }))] : []
}

const SCALES = [10_000, 100_000, 1_000_000]

/**
 * The maximum of the slider: twice the configured budget, or more for a larger budget.
 * @param {number} budget
 * @param {number} configured
 */
export function scaleOf(budget, configured) {
  const usual = configured ? 2 * configured : 4_000
  return [usual, ...SCALES.filter((each) => each > usual)].find((each) => each >= budget) ?? 1_000_000
}
