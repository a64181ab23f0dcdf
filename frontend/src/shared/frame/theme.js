import { t } from "../texts/index.js"

const KEY = "lamplighter.theme"
const ORDER = ["system", "light", "dark"]
/** The themes and their labels. */
export const THEMES = ORDER.map((choice) => ({ choice, label: labelOf(choice) }))

/**
 * Light, dark, or the theme of the system.
 * @param {{root: HTMLElement, storage: Pick<Storage, "getItem" | "setItem" | "removeItem">}} dependencies
 */
export function theme({ root, storage }) {
  return {
    choice: root.dataset.theme ?? "system",

    cycle() {
      this.choose(ORDER[(ORDER.indexOf(this.choice) + 1) % ORDER.length])
    },

    /** @param {string} choice */
    choose(choice) {
      this.choice = choice
      if (choice === "system") {
        delete root.dataset.theme
        storage.removeItem(KEY)
      } else {
        root.dataset.theme = choice
        storage.setItem(KEY, choice)
      }
    },

    get label() {
      return labelOf(this.choice)
    },
  }
}

/** @param {string} choice */
function labelOf(choice) {
  const names = { system: t("app.theme_system"), light: t("app.theme_light"), dark: t("app.theme_dark") }
  return t("app.theme", { choice: names[/** @type {keyof typeof names} */ (choice)] ?? choice })
}
