import { t } from "../../shared/texts/index.js"

/** Commands of the health page. @param {Record<string, any>} stores */
export function healthCommands({ health, router }) {
  const onPage = () => router.page === "health" && !health.busy
  return [
    { label: t("health.doRefresh"), when: onPage, run: () => health.load() },
    { label: t("health.doFullCheck"), when: onPage, run: () => health.runFullCheck() },
  ]
}
