import { focusOn, onceShown } from "../../shared/browser/focus.js"
import { t } from "../../shared/texts/index.js"
import { specsOf, textOf } from "./draft.js"
import { ACTIONS, CHECKS, checkKinds, label, WINDOWS } from "./kinds.js"

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

  /** The path of a part in the fields of the service. @param {import("./draft.js").Part} entry */
  function prefix(entry) {
    for (const list of ["checks", "maintenance", "actions"]) {
      const index = editor.draft[list].findIndex((/** @type {any} */ { key }) => key === entry.key)
      if (index >= 0) return `${list}.${index}.`
    }
    return ""
  }

  /** @param {string} field */
  function errorOf(field) {
    if (!editor.touched) return ""
    const match = editor.preview.problems.find(
      (/** @type {{field: string}} */ problem) => problem.field === field || problem.field.startsWith(`${field}.`),
    )
    return match ? match.message : ""
  }

  /** An empty field of a new part is no mistake yet. @param {import("./draft.js").Part} entry @param {string} name @param {any} spec */
  const isTyped = (entry, name, spec) => textOf(entry, spec) !== "" || name in (entry.typed ?? {})

  /** @param {import("./draft.js").Part} entry @param {(spec: any) => boolean} isIncluded */
  function fields(entry, isIncluded) {
    const pathPrefix = prefix(entry)
    return specsOf(entry)
      .filter(isIncluded)
      .map((spec) => {
        const name = spec.path.join(".")
        return {
          name,
          id: `edit-${entry.key}-${name}`,
          label: label(spec),
          text: textOf(entry, spec),
          error: editor.tried || isTyped(entry, name, spec) ? errorOf(`${pathPrefix}${name}`) : "",
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

    /** The kinds that a check or an action can be changed to. @param {any} entry */
    kindsOf(entry) {
      for (const kinds of [ACTIONS, WINDOWS]) if (entry.kind in kinds) return Object.keys(kinds)
      if (this.isLocked(entry)) return [entry.kind]
      return Object.keys(CHECKS).filter((kind) => editor.all || kind !== "command")
    },
    mainFields: (/** @type {any} */ entry) => fields(entry, ({ main, path }) => main || SERVICE_MAIN.includes(path[0])),
    moreFields: (/** @type {any} */ entry) =>
      fields(entry, ({ main, path }) => !main && !SERVICE_MAIN.includes(path[0])),
    choiceWords: (/** @type {string} */ choice) =>
      ({ "": t("editor.default"), true: t("editor.yes"), false: t("editor.no") })[choice] ?? choice,
    checkTitle: (/** @type {number} */ index) => t("editor.check", { n: String(index + 1) }),
    windowTitle: (/** @type {number} */ index) => t("editor.window", { n: String(index + 1) }),
    kindWords: (/** @type {string} */ kind) => ({ cron: t("editor.recurring"), from: t("editor.once") })[kind] ?? kind,
    actionTitle: (/** @type {number} */ index) => t("editor.action", { n: String(index + 1) }),
    dropLabel: (/** @type {string} */ title) => t("editor.drop", { title }),
    nameError: () => errorOf("name"),
    partError: (/** @type {any} */ entry) => {
      const field = prefix(entry).slice(0, -1)
      const match = editor.preview.problems.find((/** @type {{field: string}} */ problem) => problem.field === field)
      return match && editor.touched ? match.message : ""
    },
    isLocked: (/** @type {any} */ { kind }) => kind === "command" && !editor.all,

    /** Errors that belong to no field of the form. */
    otherProblems() {
      if (!editor.touched) return []
      const { service, checks, maintenance, actions } = editor.draft
      const parts = [...checks, ...maintenance, ...actions]
      const knownFields = [service, ...parts].flatMap((entry) =>
        specsOf(entry).map(({ path }) => `${prefix(entry)}${path.join(".")}`),
      )
      const partPrefixes = parts.map((entry) => prefix(entry).slice(0, -1))
      return editor.preview.problems
        .filter(
          (/** @type {{field: string}} */ { field }) =>
            field !== "name" &&
            !partPrefixes.includes(field) &&
            !knownFields.some((name) => field === name || field.startsWith(`${name}.`)),
        )
        .map((/** @type {{field: string, message: string}} */ { field, message }) => `${field}: ${message}`)
    },

    diff: () => diffParts(editor.preview.diff),
    changeDiff: (/** @type {ConfigurationChange} */ { diff }) => diffParts(diff),
    result: (/** @type {TrialResult} */ { name, ok, detail, latency_ms: ms = null }) => {
      const outcome = ok === null ? detail : ok ? t("editor.passed") : t("editor.failed", { detail })
      return `${name}: ${outcome}${ok && ms !== null ? `, ${Math.round(ms)} ms` : ""}`
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

    about: (/** @type {DeclaredService} */ { fields }) => checkKinds(fields).join(", "),
    editLabel: (/** @type {DeclaredService} */ { name }) => t("editor.editLabel", { name }),
    copyLabel: (/** @type {DeclaredService} */ { name }) => t("editor.copyLabel", { name }),
    removeLabel: (/** @type {DeclaredService} */ { name }) => t("editor.removeLabel", { name }),
    pauseLabel: (/** @type {DeclaredService} */ { name }) => t("editor.pauseLabel", { name }),
    resumeLabel: (/** @type {DeclaredService} */ { name }) => t("editor.resumeLabel", { name }),
    isPaused: (/** @type {DeclaredService} */ { name }) =>
      services.items.some(
        (/** @type {Service} */ service) => service.name === name && service.silence?.kind === "pause",
      ),
    address: (/** @type {string} */ parameter, /** @type {DeclaredService} */ { name }) =>
      `/editor?${new URLSearchParams({ [parameter]: name })}`,

    theirWords: (/** @type {{key: string, before: string, after: string}} */ { key, before, after }) =>
      t("editor.their", { key, before: before || "–", after: after || "–" }),
    othersWords: () => t("editor.others", { names: editor.othersChanged.join(", ") }),
    revertLabel: (/** @type {ConfigurationChange} */ { subject }) => t("editor.revertLabel", { subject }),

    /** Save; the first mistake that prevents it receives the focus, also where More options are closed. */
    async save() {
      await editor.save()
      if (!editor.preview.problems.length) return
      onceShown(() => {
        const field = document.querySelector(".edit-form [aria-invalid='true']")
        field?.closest("details")?.setAttribute("open", "")
        if (field) focusOn(`#${CSS.escape(field.id)}`)
      })
    },

    addCheck() {
      editor.addCheck()
      focusOn(".edit-part:last-of-type select")
    },
  }
}
