import { focusOn } from "../../shared/browser/focus.js"
import { confidence, exact, timeAgo, serviceName } from "../../shared/format/format.js"
import { t } from "../../shared/texts/index.js"

/** @param {(name: string) => any} store */
export function trashPage(store) {
  const trash = store("trash")
  const id = (/** @type {Discarded} */ row) => ({ id: String(row.id) })
  return {
    total: () => (trash.phase === "ready" && trash.total ? t("trash.total", { n: trash.total }) : ""),
    empty: () => trash.phase === "ready" && trash.rows.length === 0,
    text: (/** @type {Discarded} */ row) => row.memory?.observation ?? t("trash.unreadable", id(row)),
    service: (/** @type {Discarded} */ { memory }) => (memory ? serviceName(memory.service) : ""),
    about: (/** @type {Discarded} */ { memory }) =>
      memory ? `${memory.category} ${confidence(memory.confidence)}` : "",

    /** What a restore brings back in addition. @param {Discarded} row */
    belongs: ({ changes, links }) =>
      [t("trash.changes", { n: changes }), links ? t("trash.links", { n: links }) : ""].filter(Boolean).join(", "),

    session: (/** @type {Discarded} */ { memory }) =>
      memory?.session_id ? t("trash.session", { id: String(memory.session_id) }) : "",
    sessionAddress: (/** @type {Discarded} */ { memory }) => (memory ? `/sessions/${memory.session_id}` : null),

    /** @param {Discarded} row */
    deleted: ({ deleted_at: at, deleted_by: who }) =>
      t("trash.deleted", { when: timeAgo(at, store("clock").now), who }),

    purged: (/** @type {Discarded} */ { purge_at: at }) =>
      at ? t("trash.purged", { at: exact(at) }) : t("trash.kept"),
    restoreLabel: (/** @type {Discarded} */ row) => t("trash.restore", id(row)),
    purgeLabel: (/** @type {Discarded} */ row) => t("trash.purge", id(row)),
    restore: async (/** @type {Discarded} */ row) => (await trash.restore(row)) && focusHead(),
    purge: async (/** @type {Discarded} */ row) => (await trash.purge(row)) && focusHead(),
  }
}

/** The row that had the focus is gone. */
function focusHead() {
  focusOn("main h1")
}
