import { throttle } from "../../shared/browser/throttle.js"
import { t } from "../../shared/texts/index.js"

const FILES = /** @type {const} */ ({
  home: "settings.home",
  settings: "settings.settingsFile",
  services: "settings.services",
  lexicon: "settings.lexicon",
  sessions: "settings.sessions",
})

/** The source of a value. @param {Setting} setting */
export function sourceWords({ source, variable, line }) {
  if (source === "default") return t("settings.byDefault")
  if (source === "lamplighter.toml") return line ? t("settings.fileLine", { line: String(line) }) : t("settings.file")
  return t("settings.environment", { variable: source === "environment" ? variable : source })
}

/** The allowed values, and the default. @param {Setting} setting */
export function rangeWords({ range, default: defaultValue }) {
  const defaultText = defaultValue ? t("settings.defaultIs", { value: defaultValue }) : t("settings.noDefault")
  return range ? `${t("settings.accepts", { range })} ${defaultText}` : defaultText
}

/**
 * The active configuration, and its changes: they are written to the settings file, and most apply within seconds.
 * @param {{api: Api, tokens: any, logins?: any, agents?: any, devices?: any, toasts?: any, journal?: any, router?: any, later?: any, now?: () => number}} dependencies
 */
export function settings({ api, tokens, logins, agents, devices, toasts, journal, router, later, now = Date.now }) {
  let lastRequestId = 0
  const throttled = /** @type {{preview: () => void}} */ ({ preview: () => {} })
  return {
    phase: "loading",
    problem: "",
    forbidden: false,
    state: /** @type {SettingsState | null} */ (null),
    filter: "",
    /** The setting being edited, and the preview of its change. */
    editing: "",
    value: "",
    diff: "",
    wrong: "",
    saving: false,

    /** @param {URLSearchParams} [params] */
    async visit(params) {
      throttled.preview = throttle(() => this.editing && this.loadPreview(), { later, now })
      tokens.load()
      logins?.load()
      agents?.load()
      devices?.load()
      await this.load()
      const requested = this.state?.settings.find(({ name }) => name === params?.get("change"))
      if (requested && this.editing !== requested.name) this.edit(requested)
    },

    /** Secrets shown once are not shown again. */
    exit() {
      tokens.forget()
      tokens.hide()
      this.close()
    },

    async load() {
      try {
        this.state = await api.get("/settings")
        this.phase = "ready"
        this.problem = ""
      } catch (problem) {
        const { message, status } = /** @type {import("../../shared/api.js").Problem} */ (problem)
        this.problem = message
        this.forbidden = status === 403
        this.phase = this.state ? this.phase : "failed"
      }
    },

    /** The matching settings, grouped in the order of the catalog. */
    get groups() {
      const query = this.filter.trim().toLowerCase()
      const matches = (/** @type {Setting} */ { variable, about }) =>
        `${variable} ${about}`.toLowerCase().includes(query)
      const matching = (this.state?.settings ?? []).filter(matches)
      return [...new Set(matching.map(({ group }) => group))].map((name) => ({
        name,
        items: matching.filter(({ group }) => group === name),
      }))
    },

    get setWords() {
      const n = (this.state?.settings ?? []).filter(({ source }) => source !== "default").length
      return n ? t("settings.set", { n }) : t("settings.nothingSet")
    },

    get warnings() {
      const { refused = [], warnings = [] } = this.state ?? {}
      return [...refused.map((why) => t("settings.refused", { why })), ...warnings]
    },

    get files() {
      return (this.state?.files ?? []).map((file) => ({
        ...file,
        title: t(FILES[/** @type {keyof typeof FILES} */ (file.name)]),
        state: file.exists ? file.says : t("settings.missing"),
        faults: file.problems.map(({ line, message }) => t("settings.mistake", { line: String(line), message })),
      }))
    },

    get path() {
      return this.state?.files.find(({ name }) => name === "settings")?.path ?? ""
    },

    source: sourceWords,
    range: rangeWords,

    /** @param {Setting} setting */
    shown: ({ value }) => value || t("settings.notSet"),

    /** @param {Setting} setting */
    later: ({ next }) => (next === null ? "" : t("settings.next", { value: next || t("settings.notSet") })),

    /** @param {Setting} setting */
    changeLabel: ({ variable }) => t("settings.changeLabel", { name: variable }),

    /** @param {Setting} setting */
    isEdited({ name }) {
      return this.editing === name
    },

    /** @param {Setting} setting */
    edit({ name, value, secret, next }) {
      if (this.editing === name) return this.close()
      const currentValue = next ?? value
      Object.assign(this, {
        editing: name,
        value: secret || currentValue.includes("***") ? "" : currentValue,
        diff: "",
        wrong: "",
      })
    },

    close() {
      Object.assign(this, { editing: "", value: "", diff: "", wrong: "" })
      if (router?.params.has("change")) router.go("/settings", { replace: true })
    },

    /** Why a setting cannot be changed here; empty if it can. @param {Setting} setting */
    refusal({ name, command, variable, source }) {
      const { policy = "no", obstacle = "" } = this.state?.edit ?? {}
      if (source !== "default" && source !== "lamplighter.toml") return t("settings.overrides", { variable })
      if (policy === "no") return t("settings.editNo", { path: this.path })
      if (name === "edit") return t("settings.editOwn", { path: this.path })
      return command && policy !== "all" ? t("settings.editCommand", { path: this.path }) : obstacle
    },

    /** When a change takes effect. @param {Setting} setting */
    applies: ({ live }) => t(live ? "settings.appliesNow" : "settings.appliesLater"),

    /** @param {string} value */
    type(value) {
      this.value = value
      throttled.preview()
    },

    /** Preview a save; only the newest response counts. */
    async loadPreview() {
      const requestId = ++lastRequestId
      const values = { [this.editing]: this.value }
      try {
        const { diff, problems } = await api.post("/configuration/preview/settings", { values })
        if (requestId !== lastRequestId) return
        this.diff = diff
        this.wrong = problems.length ? `${problems[0].message}.` : ""
      } catch (problem) {
        if (requestId === lastRequestId) this.wrong = /** @type {Error} */ (problem).message
      }
    },

    /** Write the value; null restores the default. @param {Setting} setting @param {string | null} value */
    async save({ name, variable }, value) {
      if (this.saving || !this.state) return
      this.saving = true
      try {
        await api.patch("/configuration/settings", { values: { [name]: value } }, this.state.edit.etag)
        toasts.show(t("settings.saved", { variable }), { undo: journal.undoing() })
        this.close()
        await this.load()
      } catch (problem) {
        const { message, errors = [], status } = /** @type {import("../../shared/api.js").Problem} */ (problem)
        this.wrong = status === 412 ? t("settings.stale") : errors.length ? `${errors[0].message}.` : message
        if (status === 412) await this.load()
      } finally {
        this.saving = false
      }
    },
  }
}
