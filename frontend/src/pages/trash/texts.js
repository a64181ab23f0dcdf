/** Texts of this page by key; with plural forms where there is a number. */
export const trash = {
  deleted: "deleted {when} by {who}",
  purged: "removed permanently on {at}",
  kept: "kept until you delete it",
  changes: { one: "{n} change", other: "{n} changes" },
  links: { one: "{n} link", other: "{n} links" },
  session: "session {id}",
  unreadable: "Memory {id} cannot be read.",
  restore: "Restore memory {id}",
  purge: "Delete permanently: memory {id}",
  restored: "Memory {id} restored.",
  askPurge: "Delete memory {id} permanently?",
  purgeNote: "Its text and its history are removed. This cannot be undone.",
  purgeVerb: "Delete permanently",
  purgedOne: "Memory {id} deleted permanently.",
  notDone: "Nothing was changed. {why}",
  total: { one: "{n} memory", other: "{n} memories" },
}
