import { t } from "../../shared/texts/index.js"

/** Commands of the events page. @param {Record<string, any>} stores */
export function eventsCommands({ events, router }) {
  const here = () => router.page === "events"
  return [
    {
      label: t("events.doGroup"),
      when: () => here() && !events.grouped,
      run: () => router.go(router.with({ group: "1" })),
    },
    {
      label: t("events.doUngroup"),
      when: () => here() && events.grouped,
      run: () => router.go(router.with({ group: "" })),
    },
    { label: t("events.doDay"), when: here, run: () => events.lately("day", Date.now()) },
    { label: t("events.doWhole"), when: () => here() && events.ranged, run: () => events.lately("", Date.now()) },
    { label: t("events.doClear"), when: () => here() && events.filtered, run: () => events.clear() },
  ]
}
