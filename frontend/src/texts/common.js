/** What every page says: a key, and its sentence or its plural forms. */
export const common = {
  memories: { one: "{n} memory", other: "{n} memories" },
  sessions: { one: "{n} session", other: "{n} sessions" },
  tokens: { one: "{n} token", other: "{n} tokens" },
}
