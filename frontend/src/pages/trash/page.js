import { focusOn } from "../../shared/browser/focus.js"
import { confidence, exact, timeAgo, serviceName } from "../../shared/format/format.js"
import { t } from "../../shared/texts/index.js"

/** @param {(name: string) => any} store */
export function trashPage(store) {
  const trash = store("trash")
  const id = (/** @type {DeletedMemory} */ row) => ({ id: String(row.id) })
  return {
    total: () => (trash.phase === "ready" && trash.total ? t("trash.total", { n: trash.total }) : ""),
    empty: () => trash.phase === "ready" && trash.rows.length === 0,
    text: (/** @type {DeletedMemory} */ row) => row.memory?.observation ?? t("trash.unreadable", id(row)),
    service: (/** @type {DeletedMemory} */ { memory }) => (memory ? serviceName(memory.service) : ""),
    about: (/** @type {DeletedMemory} */ { memory }) =>
      memory ? `${memory.category} ${confidence(memory.confidence)}` : "",

    /** What a restore brings back in addition. @param {DeletedMemory} row */
    belongs: ({ changes, links }) =>
      [t("trash.changes", { n: changes }), links ? t("trash.links", { n: links }) : ""].filter(Boolean).join(", "),

    session: (/** @type {DeletedMemory} */ { memory }) =>
      memory?.session_id ? t("trash.session", { id: String(memory.session_id) }) : "",
    sessionAddress: (/** @type {DeletedMemory} */ { memory }) => (memory ? `/sessions/${memory.session_id}` : null),

    /** @param {DeletedMemory} row */
    deleted: ({ deleted_at: at, deleted_by: deletedBy }) =>
      t("trash.deleted", { when: timeAgo(at, store("clock").now), who: deletedBy }),

    purged: (/** @type {DeletedMemory} */ { purge_at: at }) =>
      at ? t("trash.purged", { at: exact(at) }) : t("trash.kept"),
    restoreLabel: (/** @type {DeletedMemory} */ row) => t("trash.restore", id(row)),
    purgeLabel: (/** @type {DeletedMemory} */ row) => t("trash.purge", id(row)),
    restore: async (/** @type {DeletedMemory} */ row) => (await trash.restore(row)) && focusHead(),
    purge: async (/** @type {DeletedMemory} */ row) => (await trash.purge(row)) && focusHead(),
  }
}

/** The row that had the focus is gone. */
function focusHead() {
  focusOn("main h1")
}
