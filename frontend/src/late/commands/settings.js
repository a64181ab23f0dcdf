import { t } from "../../texts.js"

/** What can be done on the page of the settings. @param {Record<string, any>} stores */
export function settingsCommands({ router, theme, tokens }) {
  const here = () => router.page === "settings"
  return [
    { label: t("settings.doToken"), when: here, run: () => tokens.show() },
    { label: t("settings.doEnded"), when: () => here() && tokens.gone.length > 0, run: () => tokens.toggleEnded() },
    { label: t("settings.doSystem"), when: () => theme.choice !== "system", run: () => theme.choose("system") },
    { label: t("settings.doLight"), when: () => theme.choice !== "light", run: () => theme.choose("light") },
    { label: t("settings.doDark"), when: () => theme.choice !== "dark", run: () => theme.choose("dark") },
  ]
}
