/** What the page says of this area: a key, and its sentence or its plural forms. */
export const cooldowns = {
  resetLabel: "Reset {action} of {service}",
  restarted: "restarted",
  redeployed: "redeployed",
  isReset: "{service} may be {done} again at once.",
  notReset: "Not reset. {why}",
  use_reserved: "under way",
  use_success: "succeeded",
  use_failure: "failed",
  use_abandoned: "abandoned",
  use_refused: "refused",
  use_would: "dry run",
  healthyAfter: "healthy after {time}",
  clearedByRounds: "cleared by healthy rounds",
  resetByPerson: "reset by a person",
  newUses: { one: "{n} new line", other: "{n} new lines" },
  useAttempts: { one: "{n} attempt", other: "{n} attempts" },
}
