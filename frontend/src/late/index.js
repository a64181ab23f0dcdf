import { healthPage } from "../components/health-page.js"
import { previewPage } from "../components/preview-page.js"
import { settingsPage } from "../components/settings-page.js"
import { health } from "../stores/health.js"
import { preview } from "../stores/preview.js"
import { settings } from "../stores/settings.js"
import { tokens } from "../stores/tokens.js"

export const commands = /** @type {Record<string, any>} */ (import.meta.glob("./commands/*.js", { eager: true }))

/**
 * The pages that are not opened every day: their stores, and what a click there means. Their texts are known already.
 * @param {any} with_
 */
export function latePages({ Alpine, add, api, router, services, clock, confirm, toasts }) {
  const store = (/** @type {string} */ name) => Alpine.store(name)
  Alpine.data("previewPage", () => previewPage(store))
  Alpine.data("healthPage", () => healthPage(store))
  Alpine.data("settingsPage", () => settingsPage(store))
  const keyring = add("tokens", tokens({ api, confirm, toasts }))
  return {
    preview: add("preview", preview({ api, router, services, clock })),
    health: add("health", health({ api, toasts, clock })),
    settings: add("settings", settings({ api, tokens: keyring })),
  }
}
