const MOST_WITHOUT_FILTER = 12

/** Whether a list has a filter: it is long, or something is typed into the filter. @param {number} count @param {string} filter */
export const hasFilter = (count, filter) => count > MOST_WITHOUT_FILTER || filter !== ""

/** Whether one of the texts of an item contains what is typed. @param {string} filter @param {string[]} texts */
export function matchesFilter(filter, texts) {
  const query = filter.trim().toLowerCase()
  return texts.some((text) => text.toLowerCase().includes(query))
}
