import { t } from "../texts/index.js"

const BLANK = () => ({
  tier: "1",
  services: /** @type {string[]} */ ([]),
  prompt: "",
  dry_run: false,
  engine: "",
})

/**
 * The form that requests a session.
 * @param {{requests: any, services: any, engines: any, toasts: any}} dependencies
 */
export function runNow({ requests, services, engines, toasts }) {
  return {
    open: false,
    saving: false,
    draft: BLANK(),
    errors: /** @type {Record<string, string>} */ ({}),
    problem: "",

    /** @param {Partial<ReturnType<typeof BLANK>>} [prefill] */
    async show(prefill) {
      if (prefill) this.draft = { ...BLANK(), ...prefill }
      this.errors = {}
      this.problem = ""
      this.open = true
      await Promise.all([services.load(), engines.load()])
      this.draft.engine = engines.items.some(
        (/** @type {any} */ { name, problem }) => name === this.draft.engine && !problem,
      )
        ? this.draft.engine
        : ""
    },

    /** Repeat a session: the same tier, services, prompt and engine. @param {Session} session */
    again({ tier, services, prompt, dry_run, engine }) {
      return this.show({ tier: String(tier || 1), services: [...(services ?? [])], prompt, dry_run, engine })
    },

    hide() {
      this.open = false
    },

    /** The default engine. */
    get usually() {
      const engine = engines.usual(this.draft.tier)
      return engine ? t("sessions.default", { engine }) : t("sessions.defaultAlone")
    },

    get means() {
      return engines.means(this.draft.tier, this.draft.engine || engines.usual(this.draft.tier))
    },

    get scope() {
      const names = this.draft.services.join(", ")
      return names ? t("sessions.scope", { names }) : t("sessions.scopeAll")
    },

    async submit() {
      this.saving = true
      this.errors = {}
      this.problem = ""
      try {
        await requests.ask(this.draft)
        this.draft = BLANK()
        this.open = false
        toasts.show(t("sessions.requested"))
      } catch (problem) {
        this.refuse(/** @type {any} */ (problem))
      } finally {
        this.saving = false
      }
    },

    /** @param {{message: string, errors?: {field: string, message: string}[]}} problem */
    refuse({ message, errors = [] }) {
      this.errors = Object.fromEntries(errors.map(({ field, message }) => [field, message]))
      this.problem = this.errors.prompt || this.errors.engine ? "" : t("sessions.notRequested", { why: message })
    },
  }
}
