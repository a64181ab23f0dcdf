import { focusOn } from "../../shared/browser/focus.js"
import { t } from "../../shared/texts/index.js"
import { specsOf, textOf } from "./draft.js"
import { ACTIONS, CHECKS, label, WINDOWS } from "./kinds.js"

const SERVICE_MAIN = ["description", "depends_on"]

/**
 * The lines of a unified diff as parts.
 * @param {string} diff
 * @returns {import("../../shared/format/diff.js").Part[]}
 */
export function diffParts(diff) {
  const kinds = /** @type {Record<string, "gone" | "new">} */ ({ "-": "gone", "+": "new" })
  return diff
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("@@"))
    .map((line) => ({ kind: kinds[line[0]] ?? "same", text: `${line}\n` }))
}

/** @param {(name: string) => any} store */
export function editorPage(store) {
  const editor = store("editor")
  const services = store("services")

  /** The path of a part in the fields of the service. @param {import("./draft.js").Part} it */
  function prefix(it) {
    for (const list of ["checks", "maintenance", "actions"]) {
      const place = editor.draft[list].findIndex((/** @type {any} */ { key }) => key === it.key)
      if (place >= 0) return `${list}.${place}.`
    }
    return ""
  }

  /** @param {string} field */
  function errorOf(field) {
    if (!editor.touched) return ""
    const found = editor.preview.problems.find(
      (/** @type {{field: string}} */ each) => each.field === field || each.field.startsWith(`${field}.`),
    )
    return found ? found.message : ""
  }

  /** @param {import("./draft.js").Part} it @param {(spec: any) => boolean} wanted */
  function fields(it, wanted) {
    const before = prefix(it)
    return specsOf(it)
      .filter(wanted)
      .map((spec) => {
        const name = spec.path.join(".")
        return {
          name,
          id: `edit-${it.key}-${name}`,
          label: label(spec),
          text: textOf(it, spec),
          error: errorOf(`${before}${name}`),
          choices: spec.type === "choice" ? (spec.choices ?? []) : null,
          long: spec.type === "lines" || spec.type === "map",
        }
      })
  }

  return {
    title() {
      if (editor.opening) return t("editor.editTitle", { name: editor.opening })
      if (!this.inForm()) return t("editor.title")
      return editor.mode === "edit" ? t("editor.editTitle", { name: editor.draft.name }) : t("editor.newTitle")
    },
    inForm: () => editor.mode !== "" || editor.opening !== null,

    /** The kinds that a check or an action can be changed to. @param {any} it */
    kindsOf(it) {
      for (const kinds of [ACTIONS, WINDOWS]) if (it.kind in kinds) return Object.keys(kinds)
      if (this.isLocked(it)) return [it.kind]
      return Object.keys(CHECKS).filter((kind) => editor.all || kind !== "command")
    },
    mainFields: (/** @type {any} */ it) => fields(it, ({ main, path }) => main || SERVICE_MAIN.includes(path[0])),
    moreFields: (/** @type {any} */ it) => fields(it, ({ main, path }) => !main && !SERVICE_MAIN.includes(path[0])),
    choiceWords: (/** @type {string} */ choice) =>
      ({ "": t("editor.default"), true: t("editor.yes"), false: t("editor.no") })[choice] ?? choice,
    checkTitle: (/** @type {number} */ place) => t("editor.check", { n: String(place + 1) }),
    windowTitle: (/** @type {number} */ place) => t("editor.window", { n: String(place + 1) }),
    kindWords: (/** @type {string} */ kind) => ({ cron: t("editor.recurring"), from: t("editor.once") })[kind] ?? kind,
    actionTitle: (/** @type {number} */ place) => t("editor.action", { n: String(place + 1) }),
    dropLabel: (/** @type {string} */ title) => t("editor.drop", { title }),
    nameError: () => errorOf("name"),
    partError: (/** @type {any} */ it) => {
      const field = prefix(it).slice(0, -1)
      const found = editor.preview.problems.find((/** @type {{field: string}} */ each) => each.field === field)
      return found && editor.touched ? found.message : ""
    },
    isLocked: (/** @type {any} */ { kind }) => kind === "command" && !editor.all,

    /** Errors that belong to no field of the form. */
    otherProblems() {
      if (!editor.touched) return []
      const { service, checks, maintenance, actions } = editor.draft
      const parts = [...checks, ...maintenance, ...actions]
      const known = [service, ...parts].flatMap((it) => specsOf(it).map(({ path }) => `${prefix(it)}${path.join(".")}`))
      const heads = parts.map((it) => prefix(it).slice(0, -1))
      return editor.preview.problems
        .filter(
          (/** @type {{field: string}} */ { field }) =>
            field !== "name" &&
            !heads.includes(field) &&
            !known.some((each) => field === each || field.startsWith(`${each}.`)),
        )
        .map((/** @type {{field: string, message: string}} */ { field, message }) => `${field}: ${message}`)
    },

    diff: () => diffParts(editor.preview.diff),
    changeDiff: (/** @type {ConfigurationChange} */ { diff }) => diffParts(diff),
    result: (/** @type {TrialResult} */ { name, ok, detail, latency_ms: ms = null }) => {
      const words = ok === null ? detail : ok ? t("editor.passed") : t("editor.failed", { detail })
      return `${name}: ${words}${ok && ms !== null ? `, ${Math.round(ms)} ms` : ""}`
    },
    resultKind: (/** @type {TrialResult} */ { ok }) => (ok === null ? "planned" : ok ? "healthy" : "failing"),

    policyWords() {
      if (!editor.file) return ""
      if (editor.file.obstacle) return editor.file.obstacle
      if (editor.file.policy === "no") return t("editor.policyNo")
      return editor.all ? "" : t("editor.policyChecks")
    },
    mistakes: () =>
      (editor.file?.problems ?? []).map((/** @type {{line: number, message: string}} */ { line, message }) =>
        t("settings.mistake", { line: String(line), message }),
      ),

    about: (/** @type {DeclaredService} */ { fields: { checks = [] } }) =>
      checks.map((/** @type {any} */ each) => Object.keys(CHECKS).find((kind) => kind in each) ?? "").join(", "),
    editLabel: (/** @type {DeclaredService} */ { name }) => t("editor.editLabel", { name }),
    copyLabel: (/** @type {DeclaredService} */ { name }) => t("editor.copyLabel", { name }),
    removeLabel: (/** @type {DeclaredService} */ { name }) => t("editor.removeLabel", { name }),
    pauseLabel: (/** @type {DeclaredService} */ { name }) => t("editor.pauseLabel", { name }),
    resumeLabel: (/** @type {DeclaredService} */ { name }) => t("editor.resumeLabel", { name }),
    isPaused: (/** @type {DeclaredService} */ { name }) =>
      services.items.some((/** @type {Service} */ each) => each.name === name && each.silence?.kind === "pause"),
    address: (/** @type {string} */ how, /** @type {DeclaredService} */ { name }) =>
      `/editor?${new URLSearchParams({ [how]: name })}`,

    theirWords: (/** @type {{key: string, before: string, after: string}} */ { key, before, after }) =>
      t("editor.their", { key, before: before || "–", after: after || "–" }),
    othersWords: () => t("editor.others", { names: editor.othersChanged.join(", ") }),
    revertLabel: (/** @type {ConfigurationChange} */ { subject }) => t("editor.revertLabel", { subject }),

    addCheck() {
      editor.addCheck()
      focusOn(".edit-part:last-of-type select")
    },
  }
}
