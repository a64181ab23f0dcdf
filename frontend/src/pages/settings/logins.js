import { onDay, timeAgo } from "../../shared/format/format.js"
import { t } from "../../shared/texts/index.js"

/**
 * The browsers that are logged in. Ending a login logs that browser out.
 * @param {{api: Api, confirm: any, toasts: any, clock: {now: number}}} dependencies
 */
export function logins({ api, confirm, toasts, clock }) {
  return {
    phase: "loading",
    problem: "",
    items: /** @type {Login[]} */ ([]),

    async load() {
      try {
        this.items = (await api.get("/logins")).logins
        this.phase = "ready"
        this.problem = ""
      } catch (problem) {
        this.problem = /** @type {Error} */ (problem).message
        this.phase = this.items.length ? this.phase : "failed"
      }
    },

    get others() {
      return this.items.filter(({ own }) => !own)
    },

    /** @param {Login} login */
    when: ({ created_at: createdAt, seen_at: seenAt, expires_at: expiresAt }) =>
      t("settings.loginTimes", {
        begun: timeAgo(createdAt, clock.now),
        seen: timeAgo(seenAt, clock.now),
        ends: onDay(new Date(expiresAt), clock.now),
      }),

    /** @param {Login} login */
    end({ id, browser }) {
      return this.ask(t("settings.endTitle", { name: browser }), `/logins/${id}`)
    },

    endOthers() {
      return this.ask(t("settings.endOthersTitle"), "/logins")
    },

    /** @param {string} title @param {string} path */
    async ask(title, path) {
      if (!(await confirm.ask({ title, note: t("settings.endNote"), verb: t("settings.endVerb") }))) return
      try {
        await api.remove(path)
        toasts.show(t("settings.ended"))
      } catch (problem) {
        toasts.show(t("settings.notEnded", { why: /** @type {Error} */ (problem).message }), { bad: true })
      }
      await this.load()
    },
  }
}
