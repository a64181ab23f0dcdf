import { t } from "../texts/index.js"

/** How the server ends a rejection if a partial undo of the act is possible. */
const REST = "The rest can be undone."

/**
 * The acts of this tab: each is undone as a whole, the last one first.
 * @param {{api: Api, toasts: any}} dependencies
 */
export function journal({ api, toasts }) {
  /** @type {number[]} */
  const done = []
  /** @type {((undone: UndoResult["undoes"]) => unknown)[]} called with the changes of an undo */
  const listeners = []
  /** @type {() => Promise<boolean>} */
  let withdraw = async () => false
  return {
    /** Record the act that a response named. @param {number} act @param {string} path */
    note(act, path) {
      if (!path.endsWith("/undo") || path.includes("/history/")) done.push(act)
    },

    /** @param {(undone: UndoResult["undoes"]) => unknown} listener */
    onUndone(listener) {
      listeners.push(listener)
    },

    /** @param {() => Promise<boolean>} run waits for edits in flight, and withdraws an edit that was not sent yet */
    beforeUndo(run) {
      withdraw = run
    },

    /** The number of acts that can be undone here. */
    get count() {
      return done.length
    },

    /** The undo of the last act, if there are more than `before` acts. */
    undoing(before = 0) {
      const act = done.length > before ? done.at(-1) : undefined
      return act === undefined ? undefined : () => this.undo(act)
    },

    /** @param {number} act @param {{partly?: boolean}} [how] */
    async undo(act, { partly = false } = {}) {
      /** @type {UndoResult} */
      let undone
      try {
        undone = await api.post(`/acts/${act}/undo`, { partly })
      } catch (problem) {
        return this.refuse(act, /** @type {any} */ (problem), partly)
      }
      forget(act)
      await Promise.all(listeners.map((listener) => listener(undone.undoes)))
      toasts.show(undoneWords(undone))
    },

    /**
     * Later changes are left in place unless a partial undo is requested.
     * @param {number} act
     * @param {{status: number, message: string}} problem
     * @param {boolean} partly
     */
    refuse(act, problem, partly) {
      const isMissing = [404, 409].includes(problem.status)
      if (isMissing) forget(act)
      const isPartial = problem.status === 409 && !partly && problem.message.endsWith(REST)
      const undo = isPartial ? () => this.undo(act, { partly: true }) : undefined
      toasts.show(t("app.not_undone", { why: problem.message }), {
        bad: true,
        undo,
        verb: isPartial ? t("app.undo_rest") : "",
      })
    },

    /** Undo the last act that was not undone yet. */
    async undoLast() {
      if (await withdraw()) return
      await api.settled?.() // the feed may show a row before the response names its act
      const act = done.at(-1)
      if (act === undefined) return toasts.show(t("app.nothing_to_undo"))
      toasts.dropUndo()
      await this.undo(act)
    },
  }

  /** @param {number} act */
  function forget(act) {
    const at = done.lastIndexOf(act)
    if (at >= 0) done.splice(at, 1)
  }
}

const WORDS = /** @type {Record<string, import("../texts/index.js").TextKey>} */ ({
  create: "app.undid_create",
  edit: "app.undid_edit",
  confirm: "app.undid_confirm",
  delete: "app.undid_delete",
  restore: "app.undid_restore",
  revert: "app.undid_revert",
})

/** A sentence about what an undo did. @param {UndoResult} undone */
export function undoneWords({
  undoes: { action, memory_id: memory, review_id: review, service, subject },
  changed,
  left,
}) {
  if (/configure|pause|incident/.test(action)) return t("app.undid_configuration", { subject: String(subject) })
  if (review !== null) return t("app.undid_review", { id: String(review) })
  if (service !== null) return t("app.undid_reset", { service })
  if (memory !== null) return t(WORDS[action] ?? "app.undid_edit", { id: String(memory) })
  if (/^(entity|relationship) /.test(subject ?? "")) return t("app.undid_graph", { subject: String(subject) })
  const text = t(action === "delete" ? "app.undid_deletes" : "app.undid_edits", { n: changed })
  return left ? `${text} ${t("app.undid_left", { n: left })}` : text
}
