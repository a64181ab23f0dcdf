/** Texts of this page by key; with plural forms where there is a number. */
export const reviews = {
  fresh: { one: "{n} new review", other: "{n} new reviews" },
  oldMemory: "Old memory",
  lastOne: "This is the last open review.",
  notUndone: "The decision was not undone. {why}",
  memory: "Memory",
  newMemory: "New memory",
  submit_both: "Keep both",
  submit_merge: "Merge",
  submit_reword: "Keep edited",
  submit_correct: "Save correction",
  inPromptMore: { one: "and {n} more", other: "and {n} more" },
  notInPrompt: "not in any prompt yet",
  inPrompt: "in the prompt of",
  unchanged: "Nothing was changed. {why}",
  openSince: { one: "{n} open review, {since}.", other: "{n} open reviews, oldest {since}." },
  openAgain: "The review is open again.",
}
