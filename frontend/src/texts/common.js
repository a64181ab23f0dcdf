/** What every page says: a key, and its sentence or its plural forms. */
export const common = {
  overview_page: "Overview",
  sessions_page: "Sessions",
  session_page: "Session",
  events_page: "Events",
  memories_page: "Memories",
  memory_page: "Memory",
  cooldowns_page: "Cooldowns",
  reviews_page: "Reviews",
  preview_page: "Prompt preview",
  health_page: "Health",
  settings_page: "Settings",
  memories: { one: "{n} memory", other: "{n} memories" },
  sessions: { one: "{n} session", other: "{n} sessions" },
  tokens: { one: "{n} token", other: "{n} tokens" },
}
