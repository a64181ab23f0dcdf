import { scriptAddress } from "../../shared/browser/trusted.js"

const WORKER = "/sw.js"

/** The notifications of this browser. @typedef {ReturnType<typeof browserPush>} BrowserPush */
export function browserPush() {
  const currentSubscription = async () =>
    (await navigator.serviceWorker.getRegistration())?.pushManager.getSubscription() ?? null
  return {
    /**
     * Why notifications are not possible here; empty if they are.
     * @returns {"" | "insecure" | "unsupported" | "blocked"}
     */
    get obstacle() {
      if (!isSecureContext) return "insecure"
      if (!("serviceWorker" in navigator && "PushManager" in window && "Notification" in window)) return "unsupported"
      return Notification.permission === "denied" ? "blocked" : ""
    },

    /** The endpoint of this browser; empty if it is not subscribed. */
    endpoint: async () => (await currentSubscription())?.endpoint ?? "",

    /** Ask for permission, and subscribe with this key. @param {string} key */
    async subscribe(key) {
      if ((await Notification.requestPermission()) !== "granted") return null
      await navigator.serviceWorker.register(scriptAddress(WORKER))
      const { pushManager } = await navigator.serviceWorker.ready
      await (await pushManager.getSubscription())?.unsubscribe() // an existing subscription may use another key
      const made = (await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key })).toJSON()
      // tells the service worker which endpoint a new one replaces
      await (await caches.open("push")).put("/push-endpoint", new Response(made.endpoint))
      return made
    },

    unsubscribe: async () => (await currentSubscription())?.unsubscribe(),
  }
}
