import { t } from "../../shared/texts/index.js"

/** What can be done about Lamplighter's own health. @param {Record<string, any>} stores */
export function healthCommands({ health, router }) {
  const here = () => router.page === "health" && !health.busy
  return [
    { label: t("health.doRefresh"), when: here, run: () => health.load() },
    { label: t("health.doFullCheck"), when: here, run: () => health.runFullCheck() },
  ]
}
