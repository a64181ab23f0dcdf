import { t } from "../texts/index.js"

/** @typedef {import("../texts/index.js").TextKey} TextKey */

/** The pages of one item: its word in the texts. */
const ITEMS = new Map([
  ["session", "session"],
  ["memories", "memory"],
  ["search", "memory"],
  ["incidents", "incident"],
  ["reviews", "review"],
  ["organizer", "run"],
])

/** The name of a page, or of its open item. @param {{page: string, id?: number | null, name?: string}} place */
export function pageName({ page, id = null, name = "" }) {
  if (page === "service" && name) return name
  const item = id === null ? undefined : ITEMS.get(page)
  return item
    ? t(/** @type {TextKey} */ (`app.${item}_n`), { id: String(id) })
    : t(/** @type {TextKey} */ (`common.${page}_page`))
}
