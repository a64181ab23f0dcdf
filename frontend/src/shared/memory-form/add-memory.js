import { drafts } from "./drafts.js"
import { t } from "../texts/index.js"
import { BLANK, UNCLAMPED, clampConfidence, clampNote, payload, readDraft, wrongIn } from "./draft.js"
import { similar } from "./similar.js"

const NEW = "new"

/**
 * The form of a new memory. Typed text survives a failure and a reload, until it is saved or cancelled.
 * @param {{api: Api, memories: any, toasts: any, journal: any, storage: Pick<Storage, "getItem" | "setItem" | "removeItem">, beside?: ReturnType<typeof similar>, unsaved?: ReturnType<typeof drafts>}} dependencies
 */
export function addMemory({
  api,
  memories,
  toasts,
  journal,
  storage,
  beside = similar({ api }),
  unsaved = drafts({ storage }),
}) {
  const savedDraft = unsaved.of(NEW)
  return {
    open: false,
    saving: false,
    draft: readDraft(savedDraft?.draft),
    /** The time the draft was typed, if it was restored. */
    typedAt: savedDraft?.at ?? null,
    errors: /** @type {Record<string, string>} */ ({}),
    problem: "",
    clamped: UNCLAMPED,
    /** Similar memories to the typed text. */
    beside,

    /** @param {Partial<typeof BLANK>} [prefill] */
    show(prefill) {
      if (prefill) this.draft = { ...BLANK, ...prefill }
      this.clamped = UNCLAMPED
      this.typedAt = prefill ? null : (unsaved.of(NEW)?.at ?? null)
      this.errors = {}
      this.problem = ""
      this.open = true
      this.compare()
    },

    /** The form changed: store the draft, and look for similar memories. */
    compare() {
      this.remember()
      this.beside.follow(this.draft)
    },

    remember() {
      const { observation, title } = this.draft
      if (observation.trim() || title.trim()) unsaved.keep(NEW, { version: 0, draft: { ...this.draft } })
      else unsaved.drop(NEW, 0)
    },

    /** Close the form; the draft remains. */
    hide() {
      this.open = false
      this.beside.clear()
      if (this.draft.observation.trim()) this.remember()
    },

    cancel() {
      this.clear()
      this.open = false
    },

    clamp() {
      clampConfidence(this)
    },

    clear() {
      this.draft = { ...BLANK }
      this.clamped = UNCLAMPED
      this.typedAt = null
      this.errors = {}
      this.problem = ""
      this.beside.clear()
      unsaved.drop(NEW, 0)
    },

    async save() {
      this.clamp()
      this.errors = wrongIn(this.draft)
      if (Object.keys(this.errors).length) return
      this.remember()
      this.saving = true
      this.problem = ""
      try {
        const note = clampNote(this)
        memories.put(await api.post("/memories", payload(this.draft)), { own: true })
        this.clear()
        this.open = false
        toasts.show(`${t("memory.added")} ${note}`.trim(), { undo: journal.undoing() })
      } catch (problem) {
        this.refuse(/** @type {any} */ (problem))
      } finally {
        this.saving = false
      }
    },

    /** @param {{message: string, errors?: {field: string, message: string}[]}} problem */
    refuse({ message, errors = [] }) {
      this.errors = Object.fromEntries(errors.map(({ field, message }) => [field, message]))
      this.problem = errors.length ? "" : t("memory.not_saved", { why: message })
    },
  }
}
