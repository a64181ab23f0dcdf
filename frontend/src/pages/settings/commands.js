import { t } from "../../shared/texts/index.js"

/** Commands of the settings page. @param {Record<string, any>} stores */
export function settingsCommands({ router, tokens, devices }) {
  const onPage = () => router.page === "settings"
  return [
    {
      label: t("settings.doPush"),
      when: () => onPage() && !devices.obstacle && !devices.on,
      run: () => devices.turnOn(),
    },
    { label: t("settings.doToken"), when: onPage, run: () => tokens.show() },
    {
      label: t("settings.doInactive"),
      when: () => onPage() && tokens.gone.length > 0,
      run: () => tokens.toggleEnded(),
    },
  ]
}
