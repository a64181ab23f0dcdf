import { t } from "../../shared/texts/index.js"

const COUNTED = /** @type {const} */ ([
  "duplicates",
  "compressed",
  "digests",
  "searched",
  "facts",
  "verified",
  "refuted",
  "conflicts",
  "model_relationships",
])
const listed = new Intl.ListFormat("en")

/** A sentence about what a run did. @param {Record<string, number>} counts */
export function outcome(counts) {
  const asked = counts.model_requests ? [t("organizer.model_requests", { n: counts.model_requests })] : []
  const words = listed.format([...named(counts, ""), ...asked])
  return words ? `${words[0].toUpperCase()}${words.slice(1)}.` : t("organizer.nothing")
}

/** A sentence about what a run would do now. @param {Record<string, number>} counts */
export function would(counts) {
  const { model_requests: n } = counts
  const asked = n ? [t("organizer.would_model_requests", { n })] : []
  const what = listed.format([...named(counts, "would_"), ...asked])
  return what ? t("organizer.would", { what }) : t("organizer.would_nothing")
}

/** @param {Record<string, number>} counts @param {"" | "would_"} form */
function named(counts, form) {
  return COUNTED.filter((name) => counts[name]).map((name) => t(`organizer.${form}${name}`, { n: counts[name] }))
}
