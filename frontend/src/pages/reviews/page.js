import { timeAgo } from "../../shared/format/format.js"
import { t } from "../../shared/texts/index.js"
import { lossWords } from "./ways.js"

/** @param {(name: string) => any} store @param {() => void} reveal */
export function reviewsPage(store, reveal) {
  const [reviews, review, router, clock] = ["reviews", "review", "router", "clock"].map(store)
  return {
    reveal,

    /** @param {Review} row */
    rowClass: (row) => ({
      "is-open": row.id === review.id,
      "is-fresh": reviews.fresh[row.id],
      "is-leaving": reviews.leaving[row.id],
    }),

    /** The claim that contradicts the memory: another memory, or the evidence of a source. @param {Review} row */
    newWords: ({ kind, new: newMemory, said, reason }) =>
      kind === "verification"
        ? reason
        : ["file", "relationship"].includes(kind)
          ? said
          : (newMemory?.observation ?? said),

    /** @param {string} state */
    tab: (state) => router.with({ state: state === "open" ? "" : state }),

    /** The address of a tab, from a case back to the list. @param {string} state */
    list: (state) => (state === "open" ? "/reviews" : `/reviews?state=${state}`),

    /** Notebook pages that need a review, listed beside the open reviews. */
    heldPages: () => (reviews.filters.state === "open" && review.id === null ? store("notebook").waiting : []),
    heldWords() {
      return t("notebook.pages_waiting", { n: this.heldPages().length })
    },
    pageName: (/** @type {NotebookPage} */ { path }) => `${path}.md`,
    pageAddress: (/** @type {NotebookPage} */ { path }) => `/notebook?page=${encodeURIComponent(path)}`,

    back: () => router.keeping("/reviews"),

    close() {
      router.go(router.keeping("/reviews"))
    },

    loss: () => (review.row ? lossWords(review.row, review.loss) : ""),

    /** @param {any[]} sessions */
    promptWords: (sessions) => t(sessions.length ? "review.inPrompt" : "review.notInPrompt"),

    /** @param {number} n */
    moreWords: (n) => t("review.inPromptMore", { n }),

    waitWords: () =>
      reviews.oldest ? t("review.openSince", { n: reviews.waits, since: timeAgo(reviews.oldest, clock.now) }) : "",

    submitWords: () =>
      review.form
        ? t(/** @type {any} */ (`review.submit_${review.failed || review.ofText ? "correct" : review.form}`))
        : "",

    /**
     * The address of the line in the session's output that reported the claim.
     * @param {{session_id: number}} said
     * @param {{memory: Memory | null}} side
     */
    lineAddress: ({ session_id: id }, { memory }) => `/sessions/${id}${memory ? `#memory-${memory.id}` : ""}`,
  }
}
