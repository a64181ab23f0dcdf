import { t } from "../../shared/texts/index.js"

/**
 * The queue worked through by keys: one decides, the next case comes up.
 * @param {any} stores
 */
export function reviewsCommands({ router, review }) {
  const here = () => router.page === "reviews" && review.waits && !review.form
  const settle = (/** @type {import("../../shared/format/outcomes.js").Resolution} */ resolution) => () =>
    review.choose(resolution)
  return [
    { keys: "a", label: t("hands.review_keep_new"), when: here, run: settle("keep_new") },
    { keys: "d", label: t("hands.review_keep_old"), when: here, run: settle("keep_old") },
    { keys: "e", label: t("hands.review_reword"), when: here, run: settle("reword") },
    { keys: "c", label: t("hands.review_both"), when: here, run: settle("both") },
    { keys: "m", label: t("hands.review_merge"), when: here, run: settle("merge") },
    { keys: "s", label: t("hands.review_dismiss"), when: here, run: settle("dismiss") },
    { keys: "l", label: t("hands.review_later"), when: here, run: () => review.later() },
    {
      keys: "u",
      label: t("hands.review_undo"),
      when: () => router.page === "reviews" && review.settled,
      run: () => review.undo(),
    },
  ]
}
