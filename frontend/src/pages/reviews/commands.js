import { t } from "../../shared/texts/index.js"

/**
 * Keys to work through the queue: a decision opens the next case.
 * @param {any} stores
 */
export function reviewsCommands({ router, review }) {
  const mayResolve = () => router.page === "reviews" && review.waits && !review.form
  const resolve = (/** @type {import("./ways.js").Resolution} */ resolution) => () => review.choose(resolution)
  return [
    { keys: "a", label: t("review.keep_new"), when: mayResolve, run: resolve("keep_new") },
    { keys: "d", label: t("review.keep_old"), when: mayResolve, run: resolve("keep_old") },
    { keys: "e", label: t("review.reword"), when: mayResolve, run: resolve("reword") },
    { keys: "c", label: t("review.both"), when: mayResolve, run: resolve("both") },
    { keys: "m", label: t("review.merge"), when: mayResolve, run: resolve("merge") },
    { keys: "s", label: t("review.dismiss"), when: mayResolve, run: resolve("dismiss") },
    { keys: "l", label: t("review.later"), when: mayResolve, run: () => review.later() },
    {
      keys: "u",
      label: t("review.undo"),
      when: () => router.page === "reviews" && review.settled,
      run: () => review.undo(),
    },
  ]
}
