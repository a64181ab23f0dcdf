/** @typedef {import("../../shared/api.js").Problem} Problem */
import { throttle } from "../../shared/browser/throttle.js"
import { t } from "../../shared/texts/index.js"
import { checkKinds } from "./kinds.js"
import { hasFilter, matchesFilter } from "../../shared/format/filter.js"
import { changed, differences, draftOf, fieldsOf, merge, part } from "./draft.js"

const FILE = "/configuration/services"
const NONE = { diff: "", problems: [], refusal: "", results: [] }
const copied = (/** @type {string} */ name) => `${name}-2`

/**
 * services.yaml: its services, and the form of one of them. Each change is previewed while typing, and saved only on
 * top of the version that was read.
 * @param {{api: Api, confirm: any, toasts: any, journal: any, router: any, services: any, later?: any, now?: () => number}} dependencies
 */
export function editor({ api, confirm, toasts, journal, router, services, later, now = Date.now }) {
  let lastRequestId = 0
  return {
    phase: "loading",
    problem: "",
    here: false,
    file: /** @type {ServicesFile | null} */ (null),
    changes: /** @type {ConfigurationChange[]} */ ([]),
    filter: "",

    /** The form: its mode and service, the values read, and the draft. */
    mode: /** @type {"" | "edit" | "new"} */ (""),
    /** The service whose form opens when the file is read, "" for a new one; null for no form. */
    opening: /** @type {string | null} */ (null),
    base: /** @type {Record<string, any>} */ ({}),
    draft: draftOf("", {}),
    programs: /** @type {string | null} */ (null),
    preview: /** @type {EditPreview} */ (NONE),
    /** Whether errors are shown: only after something was typed or tested. */
    touched: false,
    /** Whether a save or a test showed the errors of fields in which nothing was typed. */
    tried: false,
    testing: false,
    saving: false,
    refused: "",
    conflict: /** @type {ServicesFile | null} */ (null),
    again: /** @type {() => void} */ (() => {}),

    /** @param {URLSearchParams} params */
    async visit(params) {
      this.here = true
      this.again = throttle(() => this.here && this.mode && this.loadPreview(), { later, now })
      this.opening = ["new", "copy"].some((key) => params.has(key)) ? "" : params.get("service")
      await this.load()
      this.opening = null
      this.open(params)
    },

    exit() {
      Object.assign(this, { here: false, mode: "", filter: "" })
    },

    get filters() {
      return hasFilter(this.file?.services.length ?? 0, this.filter)
    },

    /** The services whose name, group, tags or kinds of checks match the filter. */
    get matching() {
      return (this.file?.services ?? []).filter(({ name, fields }) =>
        matchesFilter(
          this.filter,
          [name, fields.group ?? "", fields.tags ?? [], checkKinds(fields)].flat().map(String),
        ),
      )
    },

    async load() {
      try {
        const [file, page] = await Promise.all([api.get(FILE), api.get("/configuration/changes", { limit: 20 })])
        Object.assign(this, { file, changes: page.items, phase: "ready", problem: "" })
      } catch (problem) {
        this.problem = /** @type {Problem} */ (problem).message
        if (!this.file) this.phase = "failed"
      }
    },

    /** Open the form that the address names. @param {URLSearchParams} params */
    open(params) {
      const serviceName = params.get("service") ?? params.get("copy") ?? ""
      const declared = this.file?.services.find(({ name }) => name === serviceName)
      if (params.has("new")) this.begin("new", "", { checks: [{ http: "" }] })
      else if (declared && params.has("copy")) this.begin("new", copied(serviceName), this.withoutCommands(declared))
      else if (declared) this.begin("edit", serviceName, declared.fields)
      else this.mode = ""
    },

    /** A copy leaves out commands that the settings do not permit. @param {DeclaredService} service */
    withoutCommands({ fields }) {
      if (this.all) return fields
      const { actions: _, approve: __, checks = [], ...rest } = fields
      const allowedChecks = checks.filter((/** @type {any} */ check) => !("command" in check) || "process" in check)
      return { ...rest, checks: allowedChecks.length ? allowedChecks : [{ http: "" }] }
    },

    /** @param {"edit" | "new"} mode @param {string} name @param {Record<string, any>} fields */
    begin(mode, name, fields) {
      lastRequestId++ // pending requests belong to another form
      const initialState = {
        preview: NONE,
        touched: false,
        tried: false,
        refused: "",
        conflict: null,
        programs: null,
        saving: false,
      }
      Object.assign(this, { ...initialState, mode, base: fields, draft: draftOf(name, fields) })
      if (mode === "new" && name) this.touch()
    },

    get all() {
      return this.file?.policy === "all"
    },

    get locked() {
      return this.file?.policy === "no" || Boolean(this.file?.obstacle)
    },

    get changedHere() {
      return this.preview.diff !== ""
    },

    touch() {
      this.touched = true
      this.again()
    },

    /** @param {string} name */
    rename(name) {
      this.draft.name = name
      this.touch()
    },

    /** @param {string} programs the programs that checks may run */
    permit(programs) {
      this.programs = programs
      this.touch()
    },

    /** @param {import("./draft.js").Part} entry @param {string} key @param {string} text */
    type(entry, key, text) {
      entry.typed = { ...entry.typed, [key]: text }
      this.touch()
    },

    /** @param {import("./draft.js").Part} entry @param {string} kind */
    setKind(entry, kind) {
      Object.assign(entry, changed(entry, kind))
      this.touch()
    },

    addCheck() {
      this.draft.checks.push(part({ http: "" }, "http"))
      this.touch()
    },

    addAction() {
      this.draft.actions.push(part({ restart: "" }, "restart"))
      this.touch()
    },

    addWindow() {
      this.draft.maintenance.push(part({ cron: "", for: "", zone: zone() }, "cron"))
      this.touch()
    },

    /** @param {"checks" | "maintenance" | "actions"} list @param {number} key */
    drop(list, key) {
      this.draft[list] = this.draft[list].filter((item) => item.key !== key)
      this.touch()
    },

    get edit() {
      const programs = this.programs === null ? {} : { programs: this.programs.split(/[\s,]+/).filter(Boolean) }
      return { fields: fieldsOf(this.draft), new: this.mode === "new", ...programs }
    },

    /** Preview a save; only the newest response counts. @param {boolean} [test] */
    async loadPreview(test = false) {
      const requestId = ++lastRequestId
      const results = this.preview.results
      try {
        const preview = await api.post("/configuration/preview/services", { name: this.draft.name, ...this.edit, test })
        if (requestId === lastRequestId && this.mode) this.preview = test ? preview : { ...preview, results }
        this.refused = ""
      } catch (problem) {
        if (requestId === lastRequestId) this.refused = /** @type {Problem} */ (problem).message
      }
    },

    async test() {
      Object.assign(this, { testing: true, touched: true, tried: true })
      await this.loadPreview(true)
      this.testing = false
    },

    async save() {
      if (this.saving || !this.file) return
      Object.assign(this, { saving: true, touched: true, tried: true, refused: "" })
      const { name } = this.draft
      try {
        if (!name) return await this.loadPreview() // the address of a service needs its name; the preview says so
        const path = `${FILE}/${encodeURIComponent(name)}`
        this.file = await api.put(path, this.edit, this.file.etag)
        await this.done(t("editor.saved", { name }))
      } catch (problem) {
        this.refuse(/** @type {any} */ (problem))
      } finally {
        this.saving = false
      }
    },

    /** @param {string} message */
    async done(message) {
      toasts.show(message, { undo: journal.undoing() })
      this.mode = ""
      router.go("/editor")
      await Promise.all([this.load(), services.load()])
    },

    /** @param {Problem & {current: ServicesFile | null}} problem */
    refuse(problem) {
      if (problem.status === 412) this.conflict = problem.current
      else if (problem.status === 422 && problem.errors.length)
        this.preview = { ...this.preview, problems: problem.errors }
      else this.refused = problem.message
    },

    /** The fields of this service that somebody else changed. */
    get theirs() {
      const now = this.conflict?.services.find(({ name }) => name === this.draft.name)
      return differences(this.mode === "new" ? {} : this.base, now?.fields ?? {})
    },

    /** The other services that somebody else changed. */
    get othersChanged() {
      const all = (/** @type {ServicesFile | null} */ file) =>
        Object.fromEntries((file?.services ?? []).map(({ name, fields }) => [name, fields]))
      const changedNames = differences(all(this.file), all(this.conflict)).map(({ key }) => key)
      return changedNames.filter((name) => name !== this.draft.name)
    },

    /** Apply the changes made here on top of the other ones. */
    rebase() {
      const file = /** @type {ServicesFile} */ (this.conflict)
      const now = file.services.find(({ name }) => name === this.draft.name)?.fields
      const draftFields = fieldsOf(this.draft)
      if (!now && this.mode === "edit") this.mode = "new"
      const base = now ?? {}
      const merged = this.mode === "new" ? draftFields : merge(this.base, draftFields, base)
      Object.assign(this, { file, conflict: null, base, draft: draftOf(this.draft.name, merged) })
      this.touch()
    },

    /** @param {DeclaredService} service */
    async remove({ name }) {
      const confirmed = await confirm.ask({
        title: t("editor.askRemove", { name }),
        note: t("editor.removeNote"),
        verb: t("editor.removeVerb"),
      })
      if (!confirmed || !this.file) return
      await this.act(async () => {
        this.file = await api.remove(`${FILE}/${encodeURIComponent(name)}`, this.file?.etag)
        await this.done(t("editor.removed", { name }))
      })
    },

    /** @param {string} name @param {boolean} paused */
    async pause(name, paused) {
      const path = `/services/${encodeURIComponent(name)}/pause`
      await this.act(async () => {
        await (paused ? api.remove(path) : api.put(path, { reason: "" }))
        toasts.show(t(paused ? "editor.resumed" : "editor.paused", { name }), { undo: journal.undoing() })
        await services.load()
      })
    },

    /** @param {() => Promise<void>} run */
    async act(run) {
      try {
        await run()
      } catch (problem) {
        toasts.show(t("editor.notDone", { why: /** @type {Error} */ (problem).message }), { bad: true })
        await this.load()
      }
    },

    /** @param {ConfigurationChange} change */
    revert({ act }) {
      return journal.undo(act)
    },
  }
}

/** The time zone of the operator: times in a form are local ones, as everywhere in the app. */
function zone() {
  return Intl.DateTimeFormat().resolvedOptions().timeZone
}
