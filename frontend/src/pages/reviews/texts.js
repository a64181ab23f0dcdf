/** Texts of the list of reviews by key, part of the first load. */
export const reviews = {
  fresh: { one: "{n} new review", other: "{n} new reviews" },
}
