import { t } from "../../shared/texts/index.js"

/** The keys to each page: `g` and a letter. @param {any} stores */
export function goCommands({ router }) {
  /** @param {string} key @param {string} label @param {string} address */
  const to = (key, label, address) => ({ keys: `g ${key}`, label, run: () => router.go(address) })
  return [
    to("o", t("app.go_overview"), "/overview"),
    to("s", t("app.go_sessions"), "/sessions"),
    to("e", t("app.go_events"), "/events"),
    to("m", t("app.go_memories"), "/memories"),
    to("k", t("app.go_cooldowns"), "/cooldowns"),
    to("r", t("app.go_reviews"), "/reviews"),
    to("a", t("app.go_approvals"), "/approvals"),
    to("/", t("app.go_search"), "/search"),
    to("i", t("app.go_incidents"), "/incidents"),
    to("n", t("app.go_graph"), "/graph"),
    to("b", t("app.go_notebook"), "/notebook"),
    to("z", t("app.go_organizer"), "/organizer"),
    to("p", t("app.go_preview"), "/preview"),
    to("h", t("app.go_health"), "/health"),
    to("u", t("app.go_audit"), "/audit"),
    to("t", t("app.go_trash"), "/trash"),
    to("d", t("app.go_editor"), "/editor"),
    to(",", t("app.go_settings"), "/settings"),
  ]
}
