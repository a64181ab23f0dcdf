import { onDay, timeAgo } from "../../shared/format/format.js"
import { t } from "../../shared/texts/index.js"

export const WIDE = ["read", "write", "admin"]
export const NARROW = [
  ...["memories", "knowledge", "reviews", "events", "sessions", "cooldowns", "health", "services"].flatMap(
    (resource) => [`${resource}:read`, `${resource}:write`],
  ),
  ...["context:read", "changes:read", "settings:read", "tokens:read", "tokens:write"],
]

/** Whether a token grants access. @param {AccessToken} token @param {number} now */
export function isActive({ revoked_at: revokedAt, expires_at: expiresAt }, now) {
  return !revokedAt && (!expiresAt || Date.parse(expiresAt) > now)
}

/** The expiry of a token, or the time since which it is invalid. @param {AccessToken} token @param {number} now */
export function expiryWords({ revoked_at: revokedAt, expires_at: expiresAt }, now) {
  if (revokedAt) return t("settings.revoked", { when: timeAgo(revokedAt, now) })
  if (!expiresAt) return t("settings.forever")
  if (Date.parse(expiresAt) <= now) return t("settings.expired", { when: timeAgo(expiresAt, now) })
  return t("settings.expires", { day: onDay(new Date(expiresAt), now) })
}

function empty() {
  return { name: "", scopes: ["read"], days: "", agent: "" }
}

/**
 * Access tokens of programs. The secret of a token is shown once, when it is created.
 * @param {{api: Api, confirm: any, toasts: any, now?: () => number}} dependencies
 */
export function tokens({ api, confirm, toasts, now = Date.now }) {
  return {
    phase: "loading",
    problem: "",
    items: /** @type {AccessToken[]} */ ([]),
    ended: false,
    open: false,
    draft: empty(),
    errors: /** @type {Record<string, string>} */ ({}),
    refusal: "",
    saving: false,
    /** The token just created: its secret is known only here. */
    minted: /** @type {(AccessToken & {token: string}) | null} */ (null),

    async load() {
      try {
        this.items = (await api.all("/tokens")).items
        this.phase = "ready"
        this.problem = ""
      } catch (problem) {
        this.problem = /** @type {Error} */ (problem).message
        this.phase = this.items.length ? this.phase : "failed"
      }
    },

    get active() {
      return this.items.filter((token) => isActive(token, now()))
    },

    get gone() {
      return this.items.filter((token) => !isActive(token, now()))
    },

    get shown() {
      return this.ended ? [...this.active, ...this.gone] : this.active
    },

    get endedWords() {
      return this.ended ? t("settings.hideInactive") : t("settings.showInactive", { n: this.gone.length })
    },

    toggleEnded() {
      this.ended = !this.ended
    },

    /** @param {AccessToken} token */
    isActive: (token) => isActive(token, now()),

    /** @param {AccessToken} token */
    name: ({ id, name }) => name || t("settings.unnamed", { n: id }),

    /** @param {AccessToken} token */
    scopes: ({ scopes }) => scopes.join(", "),

    /** @param {AccessToken} token */
    expiry: (token) => expiryWords(token, now()),

    /** @param {AccessToken} token */
    used: ({ used_at: at }) => (at ? t("settings.used", { when: timeAgo(at, now()) }) : t("settings.neverUsed")),

    show() {
      Object.assign(this, { open: true, draft: empty(), errors: {}, refusal: "", minted: null })
    },

    hide() {
      this.open = false
    },

    /** Remove the secret from the page. */
    forget() {
      this.minted = null
    },

    async create() {
      const { name, scopes, days, agent } = this.draft
      const lifetime = String(days ?? "").trim()
      this.saving = true
      this.errors = {}
      this.refusal = ""
      try {
        this.minted = await api.post("/tokens", {
          name,
          scopes: [...scopes],
          ...(agent.trim() ? { agent: agent.trim() } : {}),
          ...(lifetime ? { days: Number(lifetime) } : {}),
        })
        this.open = false
        await this.load()
      } catch (problem) {
        this.refuse(/** @type {any} */ (problem))
      } finally {
        this.saving = false
      }
    },

    /** @param {import("../../shared/api.js").Problem} problem */
    refuse(problem) {
      this.errors = Object.fromEntries((problem.errors ?? []).map(({ field, message }) => [field, message]))
      this.refusal = Object.keys(this.errors).length ? "" : problem.message
    },

    /** @param {AccessToken} token */
    async revoke(token) {
      const name = this.name(token)
      const confirmed = await confirm.ask({
        title: t("settings.revokeTitle", { name }),
        note: t("settings.revokeNote"),
        verb: t("settings.revokeVerb"),
      })
      if (!confirmed) return
      try {
        await api.remove(`/tokens/${token.id}`)
        toasts.show(t("settings.isRevoked", { name }))
        if (this.minted?.id === token.id) this.minted = null
        await this.load()
      } catch (problem) {
        toasts.show(t("settings.notRevoked", { why: /** @type {Error} */ (problem).message }), { bad: true })
      }
    },
  }
}
