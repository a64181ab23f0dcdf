import { extend } from "../../shared/stores/list.js"
import { pagedList } from "../../shared/stores/paged-list.js"
import { t } from "../../shared/texts/index.js"
import { outcome } from "./outcome.js"

/**
 * The runs of the organizer, one of them with its changes, and a preview of a run.
 * @param {{api: Api, confirm: any, toasts: any, journal: any, later?: any, now?: () => number}} dependencies
 */
export function organizer({ api, confirm, toasts, journal, later = setTimeout, now }) {
  let lastRequestId = 0
  return extend(pagedList({ api, path: "/organizer/runs", later, now }), {
    id: /** @type {number | null} */ (null),
    chosen: /** @type {OrganizerDiff | null} */ (null),
    chosenProblem: "",
    report: /** @type {OrganizerReport | null} */ (null),
    previewing: false,
    busy: false,

    /** @param {URLSearchParams} _params @param {number | null} id */
    visit(_params, id) {
      if (id !== this.id) Object.assign(this, { id, chosen: null, chosenProblem: "" })
      if (!this.here) this.enter(() => this.reload())
      return this.choose()
    },

    async reload() {
      await Promise.all([this.load(), this.choose()])
    },

    async choose() {
      const requestId = ++lastRequestId
      const { id } = this
      if (id === null) return
      try {
        const chosen = await api.get(`/organizer/runs/${id}`)
        if (requestId === lastRequestId) Object.assign(this, { chosen, chosenProblem: "" })
      } catch (problem) {
        if (requestId === lastRequestId) this.chosenProblem = /** @type {Error} */ (problem).message
      }
    },

    /** The run that is queued or working. @returns {OrganizerRun | undefined} */
    get active() {
      return this.rows.find(({ state }) => state !== "completed")
    },

    /**
     * Follow the progress of a run, also of one started elsewhere; load its changes when it has ended.
     * @param {Change} change
     */
    followRun({ row }) {
      if (!this.here || !row) return
      const { chosen } = this
      const previous = this.rows.find(({ id }) => id === row.id)
      this.rows = this.rows.map((run) => (run === previous ? { ...run, ...row } : run))
      if (chosen?.id === row.id) this.chosen = { ...chosen, ...row }
      if (previous && row.state === "running") return
      if (row.state === "completed" && !row.undone_by)
        toasts.show(t("organizer.finished", { id: String(row.id), what: outcome(row.counts) }))
      return this.reload()
    },

    async preview() {
      this.previewing = true
      try {
        this.report = await api.post("/organizer/preview", {})
      } catch (problem) {
        this.refuse("organizer.no_preview", problem)
      } finally {
        this.previewing = false
      }
    },

    closePreview() {
      this.report = null
    },

    async run() {
      this.busy = true
      try {
        await api.post("/organizer/runs", {})
        this.report = null
        await this.load()
      } catch (problem) {
        this.refuse("organizer.not_started", problem)
      } finally {
        this.busy = false
      }
    },

    async undo() {
      const { chosen } = this
      if (!chosen || this.busy) return
      const confirmed = await confirm.ask({
        title: t("organizer.ask_undo", { id: String(chosen.id) }),
        text: outcome(chosen.counts),
        note: t("organizer.ask_undo_note"),
        verb: t("organizer.undo_verb"),
      })
      if (!confirmed) return
      this.busy = true
      try {
        const { changed } = await api.post(`/organizer/runs/${chosen.id}/undo`, {})
        toasts.show(t("organizer.undone_done", { n: changed }))
        await this.reload()
      } catch (problem) {
        journal.refuse(Number(chosen.act_id), problem, false)
      } finally {
        this.busy = false
      }
    },

    /** @param {import("../../shared/texts/index.js").TextKey} key @param {unknown} problem */
    refuse(key, problem) {
      toasts.show(t(key, { why: /** @type {Error} */ (problem).message }), { bad: true })
    },
  })
}
