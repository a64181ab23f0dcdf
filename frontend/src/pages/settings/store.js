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
export function rangeWords({ range, default: usual }) {
  const holds = usual ? t("settings.defaultIs", { value: usual }) : t("settings.noDefault")
  return range ? `${t("settings.accepts", { range })} ${holds}` : holds
}

/**
 * The active configuration, and its changes: they are written to the settings file, and most apply within seconds.
 * @param {{api: Api, tokens: any, logins?: any, agents?: any, devices?: any, toasts?: any, journal?: any, router?: any, later?: any, now?: () => number}} dependencies
 */
export function settings({ api, tokens, logins, agents, devices, toasts, journal, router, later, now = Date.now }) {
  let turn = 0
  const again = /** @type {{preview: () => void}} */ ({ preview: () => {} })
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
      again.preview = throttle(() => this.editing && this.loadPreview(), { later, now })
      tokens.load()
      logins?.load()
      agents?.load()
      devices?.load()
      await this.load()
      const asked = this.state?.settings.find(({ name }) => name === params?.get("change"))
      if (asked && this.editing !== asked.name) this.edit(asked)
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
      const words = this.filter.trim().toLowerCase()
      const fits = (/** @type {Setting} */ { variable, about }) => `${variable} ${about}`.toLowerCase().includes(words)
      const found = (this.state?.settings ?? []).filter(fits)
      return [...new Set(found.map(({ group }) => group))].map((name) => ({
        name,
        items: found.filter(({ group }) => group === name),
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
      const held = next ?? value
      Object.assign(this, { editing: name, value: secret || held.includes("***") ? "" : held, diff: "", wrong: "" })
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
      again.preview()
    },

    /** Preview a save; only the newest response counts. */
    async loadPreview() {
      const mine = ++turn
      const values = { [this.editing]: this.value }
      try {
        const { diff, problems } = await api.post("/configuration/preview/settings", { values })
        if (mine !== turn) return
        this.diff = diff
        this.wrong = problems.length ? `${problems[0].message}.` : ""
      } catch (problem) {
        if (mine === turn) this.wrong = /** @type {Error} */ (problem).message
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
