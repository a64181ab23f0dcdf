import { t } from "../texts.js"
import { NARROW, WIDE } from "../stores/tokens.js"

const TOLD = /** @type {const} */ ({
  read: "settings.scopeRead",
  write: "settings.scopeWrite",
  admin: "settings.scopeAdmin",
})
const THEMES = ["system", "light", "dark"]

/** @param {(name: string) => any} store */
export function settingsPage(store) {
  const [settings, tokens] = ["settings", "tokens"].map(store)
  return {
    again: () => settings.load(),
    themes: () => THEMES,
    wide: () => WIDE,
    narrow: () => NARROW,

    /** @param {keyof typeof TOLD} scope */
    told: (scope) => t(TOLD[scope]),

    zone: () => t("settings.zone", { zone: Intl.DateTimeFormat().resolvedOptions().timeZone }),

    /** The variable alone, as one would look for it. @param {Setting} setting */
    source: (setting) => settings.source(setting),

    /** @param {AccessToken} token */
    revokeLabel: (token) => t("settings.revokeLabel", { name: tokens.name(token) }),

    /** What stands in an element, for the clipboard; where that is refused it is selected. @param {string} id */
    async copy(id) {
      const el = /** @type {HTMLElement} */ (document.getElementById(id))
      try {
        await navigator.clipboard.writeText(el.textContent ?? "")
        store("toasts").say(t("settings.copied"))
      } catch {
        getSelection()?.selectAllChildren(el)
        store("toasts").say(t("settings.notCopied"))
      }
    },
  }
}
