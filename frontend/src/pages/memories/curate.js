import { BULK_LIMIT } from "../../../generated/values.js"
import { confidence } from "../../shared/format/format.js"
import { t } from "../../shared/texts/index.js"

/** @typedef {"confidence" | "raise" | "lower" | "deactivate" | "activate" | "confirm"} Act */

/** @typedef {{id: number, text: string, before: string, after: string, state: string}} Example */
/** @typedef {{act: Act, value: number, body: Record<string, any>, then: () => void, changed: number, title: string, about: string, lines: string[], examples: Example[]}} Plan */
/** The acts that have a numeric value. */
export const NUMBERED = new Set(["confidence", "raise", "lower"])

/** The API fields of an act. @param {Act} act @param {number} value */
export function fieldsOfAct(act, value) {
  if (!NUMBERED.has(act)) return { action: act }
  if (act === "confidence") return { action: act, value }
  return { action: "adjust", value: act === "raise" ? value : -value }
}

const WORDS = /** @type {const} */ ({
  confidence: "Confidence",
  raise: "Raise",
  lower: "Lower",
  deactivate: "Deactivate",
  activate: "Activate",
  confirm: "Correct",
})

/**
 * A sentence about what an act did.
 * @param {Act} act
 * @param {number} value
 * @param {number} changed
 * @param {number} [remaining]
 */
export function doneWords(act, value, changed, remaining = 0) {
  const summary = t(`memories.done${WORDS[act]}`, { n: changed, by: value.toFixed(2) })
  return remaining ? `${summary} ${t("memories.remaining", { n: remaining })}` : summary
}

/** The effects of an act, one per line. @param {{changed: number, left: number, preview: BulkPreview}} answer */
export function previewLines({
  changed,
  left,
  preview: { matched, turn_inactive: deactivated, turn_active: activated },
}) {
  const lines = [
    changed ? t("memories.wouldChange", { n: changed }) : t("memories.wouldNothing"),
    deactivated ? t("memories.wouldDeactivate", { n: deactivated }) : "",
    activated ? t("memories.wouldActivate", { n: activated }) : "",
    matched > changed ? t("memories.wouldStay", { n: matched - changed }) : "",
    left ? t("memories.wouldSkip", { n: left }) : "",
  ]
  return lines.filter(Boolean)
}

/**
 * Acts on memories beyond editing one: delete with undo, and bulk changes.
 * @param {{api: Api, memories: any, shown: any, confirm: any, toasts: any, journal: any}} dependencies `shown` is the memory in the side panel
 */
export function curate({ api, memories, shown, confirm, toasts, journal }) {
  return {
    /** The preview of an act. */
    plan: /** @type {Plan | null} */ (null),
    busy: false,

    /** Confirm that a memory is correct. @param {Memory} memory @returns {Promise<boolean>} */
    confirm(memory) {
      const { id, version, trust } = memory
      if (trust === "trusted") return attempt(async () => toasts.show(t("memories.isConfirmed", { id: String(id) })))
      return attempt(async () => {
        const row = await api.post(`/memories/${id}/confirm`, undefined, `${id}-${version}`)
        await shown.accept(row)
        toasts.show(t("memories.doneConfirm", { id: String(id) }), { undo: journal.undoing() })
      })
    },

    /** @param {Memory} memory @returns {Promise<boolean>} */
    async remove(memory) {
      const confirmed = await confirm.ask({
        title: t("memories.deleteOne"),
        text: memory.observation,
        note: t("memories.deleteOneNote"),
        verb: t("memories.deleteVerb"),
      })
      return confirmed && attempt(() => removeRows([memory], () => api.remove(`/memories/${memory.id}`)))
    },

    /** Delete the ticked memories, or all that match. @param {Memory[]} selected @returns {Promise<boolean>} */
    async removeMany(selected) {
      const n = memories.everything ? memories.chosenCount : selected.length
      const isOverLimit = n > BULK_LIMIT
      if (isOverLimit && !memories.everything) return attempt(async () => void selectionOf(selected))
      const confirmed = await confirm.ask({
        title: t("memories.confirmDelete", { n }),
        text: memories.everything ? filterWords(memories.wanted) : "",
        note: t("memories.deleteNote"),
        verb: t("memories.deleteVerb"),
      })
      if (!confirmed) return false
      if (isOverLimit) return attempt(() => removeRows([], () => erase(selectionOf(selected)), n))
      return attempt(async () => {
        const rows = memories.everything ? (await api.all("/memories", memories.wanted)).items : selected
        await removeRows(rows, () => erase({ ids: idsOf(rows) }))
      })
    },

    /**
     * Preview an act on the ticked memories, or on all that match.
     * @param {Memory[]} rows
     * @param {Act} act
     * @param {number} value
     * @param {() => void} [then] called when the act is done
     */
    async change(rows, act, value, then = () => {}) {
      const n = memories.everything ? memories.chosenCount : rows.length
      this.busy = true
      await attempt(async () => {
        const body = { ...selectionOf(rows), ...fieldsOfAct(act, value) }
        const answer = await api.post("/memories/bulk", { ...body, preview: true })
        const { matched, examples } = answer.preview
        this.plan = {
          ...{ act, value, body, then, changed: answer.changed },
          title: t(`memories.confirm${WORDS[act]}`, { n: matched || n, by: value.toFixed(2) }),
          about: memories.everything ? filterWords(memories.wanted) : "",
          lines: previewLines(answer),
          examples: examples.map(exampleWords),
        }
      })
      this.busy = false
    },

    /** Carry out the previewed act, with one undo. @returns {Promise<boolean>} */
    async carryOut() {
      const { plan } = this
      this.plan = null
      if (plan === null || !(await attempt(() => applyChange(plan)))) return false
      plan.then()
      return true
    },

    exit() {
      this.plan = null
    },
  }

  /** Without a filter the request must state that every memory is meant. */
  function allThatMatch() {
    return Object.keys(memories.wanted).length > 0 ? { filter: memories.wanted } : { filter: {}, all: true }
  }

  /** All that match, or the ticked ones: the API accepts at most 1,000 ids. @param {Memory[]} rows */
  function selectionOf(rows) {
    if (memories.everything) return allThatMatch()
    if (rows.length > BULK_LIMIT) throw new Error(t("memories.tooMany"))
    return { ids: idsOf(rows) }
  }

  /** @param {Plan} plan */
  async function applyChange({ act, value, body }) {
    const answer = await api.post("/memories/bulk", body)
    memories.unchoose()
    toasts.show(doneWords(act, value, answer.changed, answer.left), { undo: journal.undoing() })
  }

  /** @param {Record<string, unknown>} selection */
  function erase(selection) {
    return api.post("/memories/bulk", { ...selection, action: "delete" })
  }

  /** @param {Memory[]} rows @param {() => Promise<unknown>} send @param {number} [n] the number deleted, if not all rows are loaded */
  async function removeRows(rows, send, n = rows.length) {
    await send()
    rows.forEach(({ id }) => memories.drop(id, { own: true }))
    memories.unchoose()
    memories.tallySoon()
    toasts.show(t("memories.doneDelete", { n }), { undo: journal.undoing() })
  }

  /** @param {() => Promise<unknown>} action */
  async function attempt(action) {
    try {
      await action()
      return true
    } catch (problem) {
      toasts.show(t("memories.nothingChanged", { why: /** @type {Error} */ (problem).message }), { bad: true })
      return false
    }
  }
}

/** @param {Memory[]} rows */
function idsOf(rows) {
  return rows.map(({ id }) => id)
}

/** A description of the filters, for a confirmation. @param {Record<string, string>} wanted */
function filterWords({ section, q, service, category, state, view }) {
  const viewLabel = view ? t(/** @type {import("../../shared/texts/index.js").TextKey} */ (`memories.${view}`)) : ""
  const filterTexts = [section, service, category, state, viewLabel, q ? `“${q}”` : ""].filter(Boolean)
  return filterTexts.length ? t("memories.allMatches", { words: filterTexts.join(", ") }) : t("memories.allMemories")
}

/** A memory before and after the act. @param {{before: Memory, after: Memory | null}} example */
function exampleWords({ before, after }) {
  const result = after ?? before
  return {
    id: before.id,
    text: before.observation,
    before: confidence(before.confidence),
    after: confidence(result.confidence),
    state: before.active === result.active ? "" : result.active ? "on" : "off",
  }
}
