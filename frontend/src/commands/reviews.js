import { t } from "../texts.js"

/** How a case is settled. @param {any} stores */
export function reviewsCommands({ router, review }) {
  const waits = () => router.page === "reviews" && review.waits && !review.form
  /** @param {string} keys @param {string} label @param {string} resolution */
  const way = (keys, label, resolution) => ({ keys, label, when: waits, run: () => review.choose(resolution) })
  return [
    way("a", t("hands.review_keep_new"), "keep_new"),
    way("d", t("hands.review_keep_old"), "keep_old"),
    way("c", t("hands.review_both"), "both"),
    way("m", t("hands.review_merge"), "merge"),
    way("s", t("hands.review_dismiss"), "dismiss"),
    { keys: "u", label: t("hands.review_undo"), when: () => review.settled, run: () => review.undo() },
  ]
}
