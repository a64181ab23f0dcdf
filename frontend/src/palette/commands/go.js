import { t } from "../../shared/texts/index.js"

/** The ways to each page: `g` and a letter. @param {any} stores */
export function goCommands({ router }) {
  /** @param {string} key @param {string} label @param {string} address */
  const to = (key, label, address) => ({ keys: `g ${key}`, label, run: () => router.go(address) })
  return [
    to("o", t("hands.go_overview"), "/overview"),
    to("s", t("hands.go_sessions"), "/sessions"),
    to("e", t("hands.go_events"), "/events"),
    to("m", t("hands.go_memories"), "/memories"),
    to("k", t("hands.go_cooldowns"), "/cooldowns"),
    to("r", t("hands.go_reviews"), "/reviews"),
    to("a", t("hands.go_approvals"), "/approvals"),
    to("/", t("hands.go_search"), "/search"),
    to("p", t("hands.go_preview"), "/preview"),
    to("h", t("hands.go_health"), "/health"),
    to("t", t("hands.go_trash"), "/trash"),
    to(",", t("hands.go_settings"), "/settings"),
  ]
}
