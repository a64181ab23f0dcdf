import { t } from "../../shared/texts/index.js"

/** Commands of the settings page. @param {Record<string, any>} stores */
export function settingsCommands({ router, tokens, devices }) {
  const here = () => router.page === "settings"
  return [
    {
      label: t("settings.doPush"),
      when: () => here() && !devices.obstacle && !devices.on,
      run: () => devices.turnOn(),
    },
    { label: t("settings.doToken"), when: here, run: () => tokens.show() },
    { label: t("settings.doInactive"), when: () => here() && tokens.gone.length > 0, run: () => tokens.toggleEnded() },
  ]
}
