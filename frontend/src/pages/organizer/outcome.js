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
const listFormat = new Intl.ListFormat("en")

/** A sentence about what a run did. @param {Record<string, number>} counts */
export function outcome(counts) {
  const requests = counts.model_requests ? [t("organizer.model_requests", { n: counts.model_requests })] : []
  const text = listFormat.format([...named(counts, ""), ...requests])
  return text ? `${text[0].toUpperCase()}${text.slice(1)}.` : t("organizer.nothing")
}

/** A sentence about what a run would do now. @param {Record<string, number>} counts */
export function would(counts) {
  const { model_requests: n } = counts
  const requests = n ? [t("organizer.would_model_requests", { n })] : []
  const text = listFormat.format([...named(counts, "would_"), ...requests])
  return text ? t("organizer.would", { what: text }) : t("organizer.would_nothing")
}

/** @param {Record<string, number>} counts @param {"" | "would_"} form */
function named(counts, form) {
  return COUNTED.filter((name) => counts[name]).map((name) => t(`organizer.${form}${name}`, { n: counts[name] }))
}
