import { handoffState, handoffWay } from "./session/chain/store.js"
import { useNotes, useWords } from "./cooldowns/uses.js"
import { deciderWords, kindWords } from "./reviews/ways.js"

const USE_ICONS = new Map([
  ["reserved", "loader"],
  ["success", "circle-check"],
  ["unconfirmed", "circle-question-mark"],
  ["failure", "circle-x"],
  ["abandoned", "unplug"],
  ["refused", "ban"],
  ["would", "eye"],
  ["unneeded", "circle-check"],
])

/** Additions to `$fmt` for the lazily loaded pages. */
export const lateWords = {
  use: useWords,
  useNotes,
  useIcon: (/** @type {string} */ outcome) => `#icon-${USE_ICONS.get(outcome) ?? "info"}`,
  handoff: handoffState,
  handoffWay,
  reviewKind: kindWords,
  decider: deciderWords,
}
