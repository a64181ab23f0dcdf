import { t } from "../../shared/texts/index.js"

const FILES = /** @type {const} */ ({
  home: "settings.home",
  settings: "settings.settingsFile",
  services: "settings.services",
  lexicon: "settings.lexicon",
  sessions: "settings.sessions",
})

/** Where a value comes from. @param {Setting} setting */
export function sourceWords({ source, variable, line }) {
  if (source === "default") return t("settings.byDefault")
  if (source === "lamplighter.toml") return line ? t("settings.fileLine", { line: String(line) }) : t("settings.file")
  return t("settings.environment", { variable: source === "environment" ? variable : source })
}

/** What one may write, and what holds otherwise. @param {Setting} setting */
export function rangeWords({ range, default: usual }) {
  const holds = usual ? t("settings.defaultIs", { value: usual }) : t("settings.noDefault")
  return range ? `${t("settings.accepts", { range })} ${holds}` : holds
}

/**
 * What is in force, and the line that would change it: settings are read at the start, so nothing is changed here.
 * @param {{api: Api, tokens: any, agents?: any}} with_
 */
export function settings({ api, tokens, agents }) {
  return {
    phase: "loading",
    problem: "",
    forbidden: false,
    state: /** @type {SettingsState | null} */ (null),
    /** The setting that is being rewritten, and what came of it. */
    editing: "",
    value: "",
    line: "",
    wrong: "",

    visit() {
      tokens.load()
      agents?.load()
      return this.load()
    },

    /** What was shown once is not shown again. */
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

    /** Those that somebody set come first. */
    get items() {
      const all = this.state?.settings ?? []
      const set = (/** @type {Setting} */ { source, next }) => source !== "default" || next !== null
      return [...all.filter(set), ...all.filter((each) => !set(each))]
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
    edit({ name, value }) {
      if (this.editing === name) return this.close()
      Object.assign(this, { editing: name, value: value.includes("***") ? "" : value, line: "", wrong: "" })
    },

    close() {
      Object.assign(this, { editing: "", value: "", line: "", wrong: "" })
    },

    /** What to do with the line. @param {Setting} setting */
    advice({ variable, source }) {
      const wins = source !== "default" && source !== "lamplighter.toml"
      return wins ? t("settings.overrides", { variable }) : t("settings.addLine", { path: this.path })
    },

    /** The server reads the value as a start would. @param {Setting} setting */
    async write({ name }) {
      this.line = ""
      this.wrong = ""
      try {
        this.line = (await api.post("/settings/line", { name, value: this.value })).line
      } catch (problem) {
        const said = /** @type {import("../../shared/api.js").Problem} */ (problem)
        const [first] = said.errors ?? []
        this.wrong = first ? `${this.value || t("settings.notSet")} ${first.message}.` : said.message
      }
    },
  }
}
