import { t } from "../../shared/texts/index.js"

/**
 * Keys to work through the queue: a decision opens the next case.
 * @param {any} stores
 */
export function reviewsCommands({ router, review }) {
  const mayResolve = () => router.page === "reviews" && review.waits && !review.form
  const resolve = (/** @type {import("../../shared/format/outcomes.js").Resolution} */ resolution) => () =>
    review.choose(resolution)
  return [
    { keys: "a", label: t("app.review_keep_new"), when: mayResolve, run: resolve("keep_new") },
    { keys: "d", label: t("app.review_keep_old"), when: mayResolve, run: resolve("keep_old") },
    { keys: "e", label: t("app.review_reword"), when: mayResolve, run: resolve("reword") },
    { keys: "c", label: t("app.review_both"), when: mayResolve, run: resolve("both") },
    { keys: "m", label: t("app.review_merge"), when: mayResolve, run: resolve("merge") },
    { keys: "s", label: t("app.review_dismiss"), when: mayResolve, run: resolve("dismiss") },
    { keys: "l", label: t("app.review_later"), when: mayResolve, run: () => review.later() },
    {
      keys: "u",
      label: t("app.review_undo"),
      when: () => router.page === "reviews" && review.settled,
      run: () => review.undo(),
    },
  ]
}
