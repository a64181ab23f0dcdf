/** Shows push notifications while no page is open. It does not intercept requests. */

self.addEventListener("install", () => self.skipWaiting())
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()))
self.addEventListener("push", (event) => event.waitUntil(show(event.data)))
self.addEventListener("pushsubscriptionchange", (event) => event.waitUntil(renew(event)))
self.addEventListener("notificationclick", (event) => event.waitUntil(open(event.notification)))

/** Show a notification for every message: browsers cancel a subscription after silent messages. */
function show(data) {
  const { title = "Lamplighter", body = "", link = "" } = read(data)
  const tag = link || undefined
  return self.registration.showNotification(title, { body, tag, renotify: tag !== undefined, data: { link } })
}

function read(data) {
  try {
    return data?.json() ?? {}
  } catch {
    return {}
  }
}

/** Send the new endpoint to the server after the browser or its push service replaced it. This requires a login. */
async function renew({ oldSubscription: before, newSubscription: after }) {
  const api = "/api/v1/devices"
  const replaces = before?.endpoint ?? (await (await caches.match("/push-endpoint"))?.text())
  const answer = await fetch(api)
  if (!replaces || !answer.ok) return
  const { key } = await answer.json()
  const { pushManager } = self.registration
  const made = after ?? (await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key }))
  const { endpoint, keys } = made.toJSON()
  const headers = { "Content-Type": "application/json" }
  const body = JSON.stringify({ endpoint, keys, replaces })
  if ((await fetch(api, { method: "POST", headers, body })).ok) await remember(endpoint)
}

/** Store the endpoint: some browsers do not report which endpoint they replaced. */
async function remember(endpoint) {
  await (await caches.open("push")).put("/push-endpoint", new Response(endpoint))
}

/** Focus a window that shows the page, or open a new one. Other windows stay unchanged: they may contain a draft. */
async function open(notification) {
  notification.close()
  const found = new URL(notification.data?.link || "/", self.location.origin)
  const address = found.origin === self.location.origin ? found.href : `${self.location.origin}/`
  const windows = await self.clients.matchAll({ type: "window", includeUncontrolled: true })
  const same = windows.find(({ url }) => url === address)
  return same ? same.focus() : self.clients.openWindow(address)
}
