/** What the page says of this area: a key, and its sentence or its plural forms. */
export const reviews = {
  fresh: { one: "{n} new case", other: "{n} new cases" },
  itBelieved: "It believed",
  lastOne: "It is the last one that waits.",
  notUndone: "It could not be undone. {why}",
  nowSaid: "Now it was said",
  submit_both: "Keep both",
  submit_merge: "Merge",
  submit_reword: "Keep it so",
  toldMore: { one: "and {n} more", other: "and {n} more" },
  toldNone: "told to no session yet",
  toldTo: "told to",
  unchanged: "Nothing was changed. {why}",
  waitSince: { one: "{n} case waits, since {since}.", other: "{n} cases wait, the oldest since {since}." },
  waitsAgain: "It waits for you again.",
}
