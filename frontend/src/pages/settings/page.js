import { focusOn } from "../../shared/browser/focus.js"
import { t } from "../../shared/texts/index.js"
import { diffParts } from "../editor/page.js"
import { NARROW, WIDE } from "./tokens.js"

const SCOPES = /** @type {const} */ ({
  read: "settings.scopeRead",
  write: "settings.scopeWrite",
  admin: "settings.scopeAdmin",
})
const THEMES = ["system", "light", "dark"]

/** @param {(name: string) => any} store */
export function settingsPage(store) {
  const [settings, tokens] = ["settings", "tokens"].map(store)
  return {
    /** All responses are loaded: one must not push the other down. */
    loaded: () =>
      settings.phase !== "loading" &&
      tokens.phase !== "loading" &&
      store("agents").phase !== "loading" &&
      store("devices").phase !== "loading" &&
      store("logins").phase !== "loading",

    diff: () => diffParts(settings.diff),
    again: () => settings.load(),
    themes: () => THEMES,
    wide: () => WIDE,
    narrow: () => NARROW,

    /** @param {keyof typeof SCOPES} scope */
    scopeWords: (scope) => t(SCOPES[scope]),

    zone: () => t("settings.zone", { zone: Intl.DateTimeFormat().resolvedOptions().timeZone }),

    /** The name of the variable alone, for searching. @param {Setting} setting */
    source: (setting) => settings.source(setting),

    /** Return the focus to the button that opened the form. @param {Setting} setting */
    cancel({ name }) {
      settings.close()
      focusOn(`#change-${CSS.escape(name)}`)
    },

    /** Save a value; null restores the default. @param {Setting} setting @param {string | null} value */
    async save(setting, value) {
      await settings.save(setting, value)
      if (settings.editing === "") focusOn(`#change-${CSS.escape(setting.name)}`)
    },

    async makeToken() {
      await tokens.create()
      if (tokens.minted) focusOn("#minted")
    },

    cancelToken() {
      tokens.hide()
      focusOn("#new-token")
    },

    keepToken() {
      tokens.forget()
      focusOn("#new-token")
    },

    /** @param {AccessToken} token */
    async revoke(token) {
      await tokens.revoke(token)
      if (!tokens.active.some((/** @type {AccessToken} */ { id }) => id === token.id)) focusOn("#new-token")
    },

    /** @param {Device} device */
    async removeDevice(device) {
      await store("devices").remove(device)
      focusOn("#devices")
    },

    /** @param {Login} login */
    async endLogin(login) {
      await store("logins").end(login)
      focusOn("#logins")
    },

    async endOthers() {
      await store("logins").endOthers()
      focusOn("#logins")
    },

    endLoginLabel: (/** @type {Login} */ { browser }) => t("settings.endLabel", { name: browser }),
    removeDeviceLabel: (/** @type {Device} */ { name }) => t("settings.pushRemoveLabel", { name }),
    revokeAgent: (/** @type {AgentState} */ { name }) => store("revocation").show({ agent: name }),
    revokeAgentLabel: (/** @type {AgentState} */ { name }) => t("settings.revokeAgent", { name }),
    memoriesOf: (/** @type {AgentState} */ { project }) => `/memories?${new URLSearchParams({ project })}`,
    projectWords: (/** @type {AgentState} */ { project }) => t("settings.agentProject", { project }),
    remoteWords: (/** @type {AgentState} */ { memory_url: url }) => t("settings.agentRemote", { url }),
    switchesLabel: (/** @type {AgentState} */ { name }) => t("settings.agentMay", { name }),

    /** @param {AccessToken} token */
    revokeLabel: (token) => t("settings.revokeLabel", { name: tokens.name(token) }),

    /** Copy the text of an element; if the clipboard is refused, select it. @param {string} id */
    async copy(id) {
      const el = /** @type {HTMLElement} */ (document.getElementById(id))
      try {
        await navigator.clipboard.writeText(el.textContent ?? "")
        store("toasts").show(t("settings.copied"))
      } catch {
        getSelection()?.selectAllChildren(el)
        store("toasts").show(t("settings.notCopied"))
      }
    },
  }
}
