import { remember } from "./remember.js"
import { revealIn } from "./rows.js"

/** @param {(name: string) => any} store */
export function eventsPage(store) {
  return {
    reveal: () => revealIn(store("events")),
    serviceChoices: () => ["general", ...store("services").names],
    remember: (/** @type {OpsEvent} */ event) => remember(store, event),
  }
}
