import { t } from "../texts.js"

/**
 * The queue worked through by keys: one decides, the next case comes up.
 * @param {any} stores
 */
export function reviewsCommands({ router, review, reviews }) {
  const here = () => router.page === "reviews" && review.waits && !review.form
  const settle = (/** @type {import("../outcomes.js").Resolution} */ resolution) => () => review.choose(resolution)
  return [
    { keys: "a", label: t("reviews.keepNew"), when: here, run: settle("keep_new") },
    { keys: "d", label: t("reviews.keepOld"), when: here, run: settle("keep_old") },
    { keys: "e", label: t("reviews.reword"), when: here, run: settle("reword") },
    { keys: "c", label: t("reviews.both"), when: here, run: settle("both") },
    { keys: "m", label: t("reviews.merge"), when: here, run: settle("merge") },
    { keys: "s", label: t("reviews.dismiss"), when: here, run: settle("dismiss") },
    { keys: "l", label: t("reviews.later"), when: here, run: () => review.later() },
    {
      keys: "u",
      label: t("reviews.undo"),
      when: () => router.page === "reviews" && review.settled,
      run: () => review.undo(),
    },
    { keys: "j", label: t("reviews.next"), when: () => router.page === "reviews" && review.open, run: () => turn(1) },
    {
      keys: "k",
      label: t("reviews.before"),
      when: () => router.page === "reviews" && review.open,
      run: () => turn(-1),
    },
  ]

  /** @param {number} by */
  function turn(by) {
    const id = reviews.beside(review.id, by)
    if (id !== null) router.go(reviews.address(id))
  }
}
