import { storage } from "../../shared/browser/storage.js"
import { timeAgo } from "../../shared/format/format.js"
import { t } from "../../shared/texts/index.js"

/** The storage key of this browser's device id. */
export const OWN = "lamplighter-device"

const OBSTACLES = /** @type {const} */ ({
  insecure: "settings.pushInsecure",
  unsupported: "settings.pushUnsupported",
  blocked: "settings.pushBlocked",
})

/**
 * The browsers that receive notifications, and whether this one does.
 * @param {{api: Api, push: import("./browser-push.js").BrowserPush, toasts: any, clock: {now: number}, store?: any}} dependencies
 */
export function devices({ api, push, toasts, clock, store = storage }) {
  return {
    phase: "loading",
    problem: "",
    items: /** @type {Device[]} */ ([]),
    key: "",
    subscribed: false,
    own: 0,
    busy: false,
    obstacle: push.obstacle,

    async load() {
      try {
        const { key, devices: items } = await api.get("/devices")
        this.obstacle = push.obstacle
        this.subscribed = this.obstacle === "" && (await push.endpoint()) !== ""
        Object.assign(this, { key, items, own: Number(store.getItem(OWN)), phase: "ready", problem: "" })
      } catch (problem) {
        this.problem = /** @type {Error} */ (problem).message
        this.phase = this.items.length ? this.phase : "failed"
      }
    },

    /** Whether this browser is one of them. */
    get on() {
      return this.subscribed && this.items.some(({ id }) => id === this.own)
    },

    get obstacleWords() {
      return this.obstacle && t(OBSTACLES[this.obstacle])
    },

    /** @param {Device} device */
    isOwn({ id }) {
      return this.on && id === this.own
    },

    /** @param {Device} device */
    when: ({ host, sent_at: sentAt }) =>
      `${host} · ${sentAt ? t("settings.pushSent", { when: timeAgo(sentAt, clock.now) }) : t("settings.pushNotSent")}`,

    turnOn() {
      return this.act(async () => {
        const made = await push.subscribe(this.key)
        this.obstacle = push.obstacle
        if (!made) return
        const { id } = await api.post("/devices", { endpoint: made.endpoint, keys: made.keys })
        store.setItem(OWN, String(id))
        toasts.show(t("settings.pushOn"))
      })
    },

    /** @param {Device} device */
    remove(device) {
      return this.act(async () => {
        const isOwn = this.isOwn(device)
        await api.remove(`/devices/${device.id}`)
        if (isOwn) {
          store.removeItem(OWN)
          await push.unsubscribe()
        }
        toasts.show(t("settings.pushRemoved", { name: device.name }))
      })
    },

    async test() {
      try {
        const { problem } = await api.post("/notices/test", {})
        toasts.show(problem || t("settings.pushTested"))
      } catch (problem) {
        toasts.show(/** @type {Error} */ (problem).message)
      }
    },

    /** One change at a time; then the list is reloaded. @param {() => Promise<void>} action */
    async act(action) {
      if (this.busy) return
      this.busy = true
      try {
        await action()
        await this.load()
      } catch (problem) {
        this.problem = t("settings.pushFailed", { why: /** @type {Error} */ (problem).message })
      } finally {
        this.busy = false
      }
    },
  }
}
