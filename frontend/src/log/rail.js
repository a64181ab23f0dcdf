import { whyWords } from "../shared/format/outcomes.js"
import { t } from "../shared/texts/index.js"
import { markerKey } from "./lines.js"

export const SORTS = /** @type {const} */ ([
  "learned",
  "reinforced",
  "contradicted",
  "ignored",
  "refused",
  "noted",
  "searched",
  "included",
])
const ICONS = {
  learned: "brain",
  reinforced: "repeat-2",
  contradicted: "scale",
  included: "eye",
  searched: "search",
  noted: "list",
  ignored: "circle-question-mark",
  refused: "ban",
}
/** Reasons for ignoring a marker that a person may nevertheless ingest. */
const BY_HAND = ["in code", "quoted"]
const NOTED = new Map([
  ["cooldown", "timer"],
  ["escalate", "circle-arrow-up"],
])

/** @typedef {typeof SORTS[number]} Sort */
/**
 * @typedef {{key: string, sort: Sort, icon: string, head: string, outcome: string, text: string, why: string,
 *   memory: number | null, review: number | null, line: string, marker: Marker | null, found?: Search["hits"], takeable?: boolean}} Entry
 */

/**
 * The memories that went into a session's prompt and those that it produced, newest first; the memories in its prompt
 * are listed last.
 * @param {{markers: Marker[], included: any[], contradicted: Review[], searches?: Search[]}} session
 * @returns {Entry[]}
 */
export function railOf({ markers, included, contradicted, searches = [] }) {
  const markerEntries = [...markers].reverse().map((marker) => ofMarker(marker))
  const reviewEntries = contradicted.map((review) => ofReview(review, markers))
  for (const entry of reviewEntries) {
    const index = markerEntries.findIndex(({ line }) => line !== "" && line === entry.line)
    markerEntries.splice(index < 0 ? 0 : index + 1, 0, entry)
  }
  const searched = [...searches].reverse().map((search) => ofSearch(search))
  return [
    ...markerEntries,
    ...searched,
    ...included.filter((item) => item.included).map((item) => ofIncluded(item, markers, contradicted)),
  ]
}

/** A text for the outcome of a marker. @param {Marker} marker */
export function outcomeWords({ state, outcome, reason }) {
  if (state === "taken") return outcome
  return reason ? t("session.because", { state, reason }) : state
}

/** The number of entries by sort. @param {Entry[]} entries */
export function tallyOf(entries) {
  return SORTS.map((sort) => ({
    sort,
    name: sortWords(sort),
    n: entries.filter((entry) => entry.sort === sort).length,
  })).filter(({ n }) => n > 0)
}

/** @param {Sort} sort */
export function sortWords(sort) {
  return t(/** @type {any} */ (`session.${sort}`))
}

/** @param {Marker} marker @returns {Sort} */
export function sortOf({ state, outcome }) {
  if (state !== "taken") return state
  return outcome === "learned" || outcome === "reinforced" ? outcome : "noted"
}

/** @param {Marker} marker @returns {Entry} */
function ofMarker(marker) {
  const { id, what, category, service, text, memory_id: memory, reason, state } = marker
  const sort = sortOf(marker)
  return {
    key: `marker-${id}`,
    sort,
    icon: `#icon-${(sort === "noted" && NOTED.get(what)) || ICONS[sort]}`,
    head: [what, category, service].filter(Boolean).join(" · "),
    outcome: outcomeWords(marker),
    text,
    why: state === "taken" ? reason : "",
    memory,
    review: null,
    line: markerKey(marker),
    marker,
    takeable: state === "ignored" && BY_HAND.includes(reason),
  }
}

/** @param {Review} review @param {Marker[]} markers @returns {Entry} */
function ofReview(review, markers) {
  const sourceMarker = markers.findLast(({ memory_id: id }) => id !== null && id === review.new?.id)
  return {
    key: `review-${review.id}`,
    sort: "contradicted",
    icon: `#icon-${ICONS.contradicted}`,
    head: [t("session.against"), review.category, review.service].filter(Boolean).join(" · "),
    outcome: t(review.kind === "conflict" ? "session.contradicted" : "session.possibly"),
    text: review.old?.observation ?? "",
    why: whyWords(review),
    memory: review.old?.id ?? null,
    review: review.id,
    line: sourceMarker ? markerKey(sourceMarker) : "",
    marker: null,
  }
}

/** @param {Search} search @returns {Entry} */
function ofSearch({ id, tool, query, hits }) {
  return {
    key: `search-${id}`,
    sort: "searched",
    icon: `#icon-${ICONS.searched}`,
    head: tool,
    outcome: hits.length ? t("session.results", { n: hits.length }) : t("session.noResults"),
    text: query,
    why: "",
    memory: null,
    review: null,
    line: "",
    marker: null,
    found: hits,
  }
}

/** @param {any} included @param {Marker[]} markers @param {Review[]} contradicted @returns {Entry} */
function ofIncluded({ memory_id: id, line, why }, markers, contradicted) {
  const reinforcement = markers.findLast(
    (candidate) => candidate.memory_id === id && candidate.outcome === "reinforced",
  )
  const isContradicted = contradicted.some((review) => review.old?.id === id && review.kind === "conflict")
  const outcomeKey = reinforcement ? "session.confirmed" : isContradicted ? "session.contradicted" : ""
  return {
    key: `told-${id}`,
    sort: "included",
    icon: `#icon-${ICONS.included}`,
    head: [t("session.included"), why].filter(Boolean).join(" · "),
    outcome: outcomeKey && t(/** @type {any} */ (outcomeKey)),
    text: line,
    why: "",
    memory: id,
    review: null,
    line: reinforcement ? markerKey(reinforcement) : "",
    marker: null,
  }
}
