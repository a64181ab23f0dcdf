const BLANK = () => ({ tier: "1", services: /** @type {string[]} */ ([]), prompt: "", dry_run: false })

/**
 * A session asked for by hand.
 * @param {{requests: any, services: any, toasts: any}} with_
 */
export function runNow({ requests, services, toasts }) {
  return {
    open: false,
    saving: false,
    draft: BLANK(),
    errors: /** @type {Record<string, string>} */ ({}),
    problem: "",

    /** @param {Partial<ReturnType<typeof BLANK>>} [prefill] */
    show(prefill) {
      if (prefill) this.draft = { ...BLANK(), ...prefill }
      services.load()
      this.open = true
    },

    hide() {
      this.open = false
    },

    get scope() {
      return this.draft.services.length ? `Only ${this.draft.services.join(", ")}.` : "None chosen means all of them."
    },

    async submit() {
      this.saving = true
      this.errors = {}
      this.problem = ""
      try {
        await requests.ask(this.draft)
        this.draft = BLANK()
        this.open = false
        toasts.say("Asked for. It starts as soon as the supervisor is free.")
      } catch (problem) {
        this.refuse(/** @type {any} */ (problem))
      } finally {
        this.saving = false
      }
    },

    /** @param {{message: string, errors?: {field: string, message: string}[]}} problem */
    refuse({ message, errors = [] }) {
      this.errors = Object.fromEntries(errors.map(({ field, message }) => [field, message]))
      this.problem = this.errors.prompt ? "" : `Not started. ${message}`
    },
  }
}
