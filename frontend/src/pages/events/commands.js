import { t } from "../../shared/texts/index.js"

/** Commands of the events page. @param {Record<string, any>} stores */
export function eventsCommands({ events, router }) {
  const onPage = () => router.page === "events"
  return [
    {
      label: t("events.doGroup"),
      when: () => onPage() && !events.grouped,
      run: () => router.go(router.with({ group: "1" })),
    },
    {
      label: t("events.doUngroup"),
      when: () => onPage() && events.grouped,
      run: () => router.go(router.with({ group: "" })),
    },
    { label: t("events.doDay"), when: onPage, run: () => events.lately("day", Date.now()) },
    { label: t("events.doWhole"), when: () => onPage() && events.ranged, run: () => events.lately("", Date.now()) },
    { label: t("events.doClear"), when: () => onPage() && events.filtered, run: () => events.clear() },
  ]
}
