"""Notifications to a browser: enabled in the settings, shown by the service worker, disabled.

Chromium reaches no push service here. Therefore the browser's own subscription is the one simulated
part: the page makes its endpoint and its keys. Chromium's headless shell also reports a granted
permission as denied and shows no notification.
"""

import json
import time
from typing import Any

from playwright.sync_api import CDPSession, Page, expect

from app import App
from test_round import RULES, violations

SUBSCRIBE = """
(() => {
  let made = null
  Object.defineProperty(Notification, "permission", { get: () => "granted" })
  const text = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")
  PushManager.prototype.getSubscription = async () => made
  PushManager.prototype.subscribe = async ({ applicationServerKey, userVisibleOnly }) => {
    if (!userVisibleOnly || applicationServerKey.length !== 87) throw new TypeError("no key")
    const curve = { name: "ECDH", namedCurve: "P-256" }
    const { publicKey } = await crypto.subtle.generateKey(curve, true, ["deriveBits"])
    const p256dh = text(await crypto.subtle.exportKey("raw", publicKey))
    const auth = text(crypto.getRandomValues(new Uint8Array(16)))
    const endpoint = "https://push.invalid/send/one"
    made = {
      endpoint,
      toJSON: () => ({ endpoint, expirationTime: null, keys: { p256dh, auth } }),
      unsubscribe: async () => ((made = null), true),
    }
    return made
  }
})()
"""
RENEW = """async (endpoint) => {
  const text = (size) => btoa(String.fromCharCode(...new Uint8Array(size)))
    .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")
  const curve = { name: "ECDH", namedCurve: "P-256" }
  const { publicKey } = await crypto.subtle.generateKey(curve, true, ["deriveBits"])
  const p256dh = text(await crypto.subtle.exportKey("raw", publicKey))
  const made = { toJSON: () => ({ endpoint, keys: { p256dh, auth: text(new Uint8Array(16)) } }) }
  await renew({ oldSubscription: null, newSubscription: made })
}"""
REMEMBERED = """async () => (await caches.match("/push-endpoint")).text()"""
LISTED = "async () => (await (await fetch('/api/v1/devices')).json()).devices"
WATCH = """() => {
  self.shown = []
  self.registration.showNotification = async (title, { body, data }) => {
    self.shown.push([title, body, data.link])
  }
}"""


def deliver(page: Page, app: App, message: dict[str, Any]) -> None:
    """Let the browser deliver a message to the service worker, as from its push service."""
    cdp: CDPSession = page.context.new_cdp_session(page)
    registered: list[str] = []

    def seen(found: dict[str, Any]) -> None:
        registered.extend(each["registrationId"] for each in found["registrations"])

    cdp.on("ServiceWorker.workerRegistrationUpdated", seen)
    cdp.send("ServiceWorker.enable")
    until = time.monotonic() + 10
    while not registered and time.monotonic() < until:
        page.wait_for_timeout(50)
    sent = {"origin": app.url, "registrationId": registered[0], "data": json.dumps(message)}
    cdp.send("ServiceWorker.deliverPushMessage", sent)


def test_a_browser_receives_notifications_until_it_is_removed(page: Page, app: App) -> None:
    page.context.grant_permissions(["notifications"], origin=app.url)
    page.add_init_script(SUBSCRIBE)
    page.goto(f"{app.url}/settings")
    part = page.get_by_role("region", name="Notifications", exact=True)
    expect(part.get_by_text("No devices yet.")).to_be_visible()

    part.get_by_role("button", name="Turn on here").click()

    device = part.get_by_role("list", name="Devices").get_by_role("listitem")
    expect(device).to_contain_text("this browser")
    expect(device).to_contain_text("push.invalid · no notification yet")
    expect(part.get_by_role("button", name="Turn on here")).to_be_hidden()
    assert violations(page, RULES) == []
    part.get_by_role("button", name="Send a test").click()
    expect(page.get_by_text("Test notification queued.")).to_be_visible()

    message = {"title": "Web is down", "body": "refused", "link": "/incidents/3"}
    [worker] = page.context.service_workers
    worker.evaluate(WATCH)
    deliver(page, app, message)

    until = time.monotonic() + 10
    while not (shown := worker.evaluate("self.shown")) and time.monotonic() < until:
        page.wait_for_timeout(50)
    assert shown == [["Web is down", "refused", "/incidents/3"]]

    before = page.evaluate(LISTED)
    worker.evaluate(RENEW, "https://push.invalid/send/two")
    assert worker.evaluate(REMEMBERED) == "https://push.invalid/send/two"
    after = page.evaluate(LISTED)
    assert [each["id"] for each in after] == [each["id"] for each in before]
    assert after[0]["created_at"] > before[0]["created_at"], "it is the new subscription"

    device.get_by_role("button", name="Remove").click()
    expect(part.get_by_text("No devices yet.")).to_be_visible()
    expect(part.get_by_role("button", name="Turn on here")).to_be_visible()


def test_blocked_notifications_are_explained(page: Page, app: App) -> None:
    page.add_init_script(
        'Object.defineProperty(Notification, "permission", { get: () => "denied" })'
    )
    page.goto(f"{app.url}/settings")

    part = page.get_by_role("region", name="Notifications", exact=True)
    expect(part.get_by_text("This browser blocks notifications from Lamplighter.")).to_be_visible()
    expect(part.get_by_role("button", name="Turn on here")).to_be_hidden()
