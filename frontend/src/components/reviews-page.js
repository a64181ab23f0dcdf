import { lossWords } from "../outcomes.js"

/** @param {(name: string) => any} store @param {() => void} reveal */
export function reviewsPage(store, reveal) {
  const [reviews, review, router] = ["reviews", "review", "router"].map(store)
  return {
    reveal,

    /** @param {Review} row */
    rowClass: (row) => ({
      "is-open": row.id === review.id,
      "is-fresh": reviews.fresh[row.id],
      "is-leaving": reviews.leaving[row.id],
    }),

    /** @param {string} state */
    tab: (state) => router.with({ state: state === "open" ? "" : state }),

    /** Where the tabs lead from a case: to the list. @param {string} state */
    list: (state) => (state === "open" ? "/reviews" : `/reviews?state=${state}`),

    back: () => router.keeping("/reviews"),

    close() {
      router.go(router.keeping("/reviews"))
    },

    loss: () => (review.row ? lossWords(review.row, review.loss) : ""),

    /** @param {any[]} sessions */
    toldWords: (sessions) => (sessions.length ? "told to" : "told to no session yet"),
  }
}
