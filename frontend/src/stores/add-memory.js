import { payload } from "./memory.js"
import { similar } from "./similar.js"

const KEY = "lamplighter.draft.memory"
const BLANK = { category: "behavior", service: "", observation: "", confidence: 0.7 }

/**
 * A memory being written by hand. What was typed outlives a failure and a reload, until it is saved or cancelled.
 * @param {{api: Api, memories: any, toasts: any, storage: Pick<Storage, "getItem" | "setItem" | "removeItem">, beside?: ReturnType<typeof similar>}} with_
 */
export function addMemory({ api, memories, toasts, storage, beside = similar({ api }) }) {
  return {
    open: false,
    saving: false,
    draft: { ...BLANK, ...kept(storage) },
    errors: /** @type {Record<string, string>} */ ({}),
    problem: "",
    /** What we hold already of what is typed. */
    beside,

    /** @param {Partial<typeof BLANK>} [prefill] */
    show(prefill) {
      if (prefill) this.draft = { ...BLANK, ...prefill }
      this.errors = {}
      this.problem = ""
      this.open = true
      this.compare()
    },

    compare() {
      this.beside.follow(this.draft)
    },

    /** Closed but not given up: the draft stays. */
    hide() {
      this.open = false
      this.beside.clear()
      if (this.draft.observation.trim()) storage.setItem(KEY, JSON.stringify(this.draft))
    },

    cancel() {
      this.clear()
      this.open = false
    },

    clear() {
      this.draft = { ...BLANK }
      this.beside.clear()
      storage.removeItem(KEY)
    },

    async save() {
      if (!this.draft.observation.trim()) return void (this.errors = { observation: "Write what is to be remembered." })
      storage.setItem(KEY, JSON.stringify(this.draft))
      this.saving = true
      this.errors = {}
      this.problem = ""
      try {
        memories.put(await api.post("/memories", payload(this.draft)), { own: true })
        this.clear()
        this.open = false
        toasts.say("The memory is written.")
      } catch (problem) {
        this.refuse(/** @type {any} */ (problem))
      } finally {
        this.saving = false
      }
    },

    /** @param {{message: string, errors?: {field: string, message: string}[]}} problem */
    refuse({ message, errors = [] }) {
      this.errors = Object.fromEntries(errors.map(({ field, message }) => [field, message]))
      this.problem = errors.length ? "" : `Not saved. ${message} What you typed is still here.`
    },
  }
}

/** @param {Pick<Storage, "getItem">} storage */
function kept(storage) {
  try {
    return JSON.parse(storage.getItem(KEY) ?? "{}")
  } catch {
    return {}
  }
}
