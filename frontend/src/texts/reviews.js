/** What the page says of this area: a key, and its sentence or its plural forms. */
export const reviews = {
  fresh: { one: "{n} new case", other: "{n} new cases" },
  believed: "It believed",
  now_said: "Now it was said",
  not_changed: "Nothing was changed. {why}",
  not_undone: "It could not be undone. {why}",
  waits_again: "It waits for you again.",
  lastOne: "It is the last one that waits.",
  submit_both: "Keep both",
  submit_merge: "Merge",
  submit_reword: "Keep it so",
  toldNone: "told to no session yet",
  toldTo: "told to",
  waitSince: { one: "{n} case waits, since {since}.", other: "{n} cases wait, the oldest since {since}." },
}
