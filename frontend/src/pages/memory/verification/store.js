import { t } from "../../../shared/texts/index.js"

const DAY_S = 86_400

/** @typedef {{value: string, label: string, service: string, check: string}} Choice a declared check of a service */

/**
 * The verification of the memory in the panel by its sources, and the checks attached to it.
 * @param {{api: Api}} dependencies
 */
export function verification({ api }) {
  let lastRequestId = 0
  return {
    id: /** @type {number | null} */ (null),
    version: 0,
    loaded: false,
    busy: false,
    problem: "",
    verified_at: /** @type {Time | null} */ (null),
    outcome: /** @type {Outcome | null} */ (null),
    checks: /** @type {AttachedCheck[]} */ ([]),
    reviews: /** @type {number[]} */ ([]),
    /** Whether the form that attaches a check is open. */
    open: false,
    choices: /** @type {Choice[]} */ ([]),
    draft: { chosen: "", command: "", cadence: DAY_S },
    errors: /** @type {Record<string, string>} */ ({}),

    /** Follow the memory in the panel. @param {Memory} memory */
    follow({ id, version }) {
      if (id === this.id && version === this.version) return
      if (id !== this.id)
        Object.assign(this, { loaded: false, open: false, problem: "", outcome: null, checks: [], reviews: [] })
      Object.assign(this, { id, version })
      this.load()
    },

    async load() {
      const requestId = ++lastRequestId
      const response = await api.get(`/memories/${this.id}/verification`).catch(() => null)
      if (requestId === lastRequestId && response) this.take(response)
    },

    /** @param {VerificationState} found */
    take({ verified_at, outcome, checks, reviews }) {
      Object.assign(this, { verified_at, outcome, checks, reviews, loaded: true })
    },

    verify() {
      return this.act("verification.not_verified", async () => {
        const { id } = this
        lastRequestId++ // the response to an earlier read is older than this one
        const response = await api.post(`/memories/${id}/verify`, {})
        if (id === this.id) this.take(response)
      })
    },

    async show() {
      const { id } = this
      const page = await api.all("/services").catch(() => ({ items: [] }))
      this.choices = page.items.flatMap((/** @type {Service} */ { name, checks }) =>
        checks.map(({ name: check }) => ({
          value: `${name}/${check}`,
          label: t("verification.check_of", { check, service: name }),
          service: name,
          check,
        })),
      )
      this.draft = { chosen: this.choices[0]?.value ?? "", command: "", cadence: DAY_S }
      Object.assign(this, { open: id === this.id, errors: {}, problem: "" })
    },

    hide() {
      this.open = false
    },

    attach() {
      const { chosen, command, cadence } = this.draft
      const declared = this.choices.find(({ value }) => value === chosen)
      if (!declared && !command.trim()) return (this.errors = { command: t("verification.no_command") })
      const target = declared ? { service: declared.service, check: declared.check } : { command: command.trim() }
      return this.act("verification.not_attached", async () => {
        await api.post(`/memories/${this.id}/checks`, { ...target, cadence: Number(cadence) })
        this.open = false
        await this.load()
      })
    },

    /** @param {AttachedCheck} check */
    remove({ id }) {
      return this.act("verification.not_removed", async () => {
        await api.remove(`/memories/${this.id}/checks/${id}`)
        await this.load()
      })
    },

    /** @param {import("../../../shared/texts/index.js").TextKey} textKey @param {() => Promise<void>} run */
    async act(textKey, run) {
      if (this.busy) return
      Object.assign(this, { busy: true, problem: "", errors: {} })
      try {
        await run()
      } catch (problem) {
        const { errors = [], message } = /** @type {import("../../../shared/api.js").Problem} */ (problem)
        this.errors = Object.fromEntries(errors.map(({ field, message: text }) => [field, text]))
        if (!errors.length) this.problem = t(textKey, { why: message })
      } finally {
        this.busy = false
      }
    },
  }
}

/** @typedef {Shapes["MemoryVerificationOut"]} VerificationState */
