import { t } from "../../shared/texts/index.js"

/**
 * Keys to work through the queue: a decision opens the next case.
 * @param {any} stores
 */
export function reviewsCommands({ router, review }) {
  const here = () => router.page === "reviews" && review.waits && !review.form
  const resolve = (/** @type {import("../../shared/format/outcomes.js").Resolution} */ resolution) => () =>
    review.choose(resolution)
  return [
    { keys: "a", label: t("app.review_keep_new"), when: here, run: resolve("keep_new") },
    { keys: "d", label: t("app.review_keep_old"), when: here, run: resolve("keep_old") },
    { keys: "e", label: t("app.review_reword"), when: here, run: resolve("reword") },
    { keys: "c", label: t("app.review_both"), when: here, run: resolve("both") },
    { keys: "m", label: t("app.review_merge"), when: here, run: resolve("merge") },
    { keys: "s", label: t("app.review_dismiss"), when: here, run: resolve("dismiss") },
    { keys: "l", label: t("app.review_later"), when: here, run: () => review.later() },
    {
      keys: "u",
      label: t("app.review_undo"),
      when: () => router.page === "reviews" && review.settled,
      run: () => review.undo(),
    },
  ]
}
