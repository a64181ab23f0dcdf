import { extend } from "../../shared/stores/list.js"
import { pagedList } from "../../shared/stores/paged-list.js"
import { t } from "../../shared/texts/index.js"
import { outcome } from "./outcome.js"

/** While a run is queued or working, it is read so often: no change of the feed tells how far it is. */
const POLL_MS = 1_000

/**
 * The runs of the organizer, one of them with what it changed, and what a run would do now.
 * @param {{api: Api, confirm: any, toasts: any, journal: any, later?: any, now?: () => number}} with_
 */
export function organizer({ api, confirm, toasts, journal, later = setTimeout, now }) {
  let turn = 0
  let polling = false
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
      if (!this.here) this.enter(() => this.reload()).then(() => this.poll())
      return this.choose()
    },

    async reload() {
      await Promise.all([this.load(), this.choose()])
      this.poll()
    },

    async choose() {
      const mine = ++turn
      const { id } = this
      if (id === null) return
      try {
        const chosen = await api.get(`/organizer/runs/${id}`)
        if (mine === turn) Object.assign(this, { chosen, chosenProblem: "" })
      } catch (problem) {
        if (mine === turn) this.chosenProblem = /** @type {Error} */ (problem).message
      }
    },

    /** The run that is queued or working. @returns {OrganizerRun | undefined} */
    get active() {
      return this.rows.find(({ state }) => state !== "completed")
    },

    /** Follow the run that works until it has ended. */
    poll() {
      if (polling || !this.active) return
      polling = true
      later(async () => {
        polling = false
        const before = this.active
        if (!this.here) return
        await this.load()
        const after = this.rows.find(({ id }) => id === before?.id)
        if (after?.state === "completed") {
          toasts.show(t("organizer.finished", { id: String(after.id), what: outcome(after.counts) }))
          await this.choose()
        }
        this.poll()
      }, POLL_MS)
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
        this.poll()
      } catch (problem) {
        this.refuse("organizer.not_started", problem)
      } finally {
        this.busy = false
      }
    },

    async undo() {
      const { chosen } = this
      if (!chosen || this.busy) return
      const yes = await confirm.ask({
        title: t("organizer.ask_undo", { id: String(chosen.id) }),
        text: outcome(chosen.counts),
        note: t("organizer.ask_undo_note"),
        verb: t("organizer.undo_verb"),
      })
      if (!yes) return
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
