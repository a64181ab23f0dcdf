"""The notification targets of this home: the addresses of its settings, and its devices."""

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from lamplighter import clock
from lamplighter.config.settings import Settings
from lamplighter.domain.access.access import Device
from lamplighter.domain.access.device import ROUTE, decode_key
from lamplighter.domain.errors import Unavailable
from lamplighter.domain.services.notice import ABANDON_AFTER, NoticeMessage, NoticeTarget
from lamplighter.domain.text import shorten
from lamplighter.repository import Database, writing
from lamplighter.repository.access import devices
from lamplighter.repository.store.driver import Error
from lamplighter.serve.outbox import AppriseTransport
from lamplighter.serve.push.client import PushClient
from lamplighter.serve.push.encryption import MAX_PLAIN_BYTES, encrypt
from lamplighter.serve.push.keys import PushKey

logger = logging.getLogger(__name__)

GONE: Final = (404, 410)
"""What a push service answers for a browser that is not subscribed any more."""

OTHER_KEY: Final = (
    "it was subscribed with another key. Turn notifications off and on again on this device"
)
MAX_CHARS: Final = 2_000
_DEVICE: Final = "device:"


@dataclass(frozen=True, slots=True)
class NoticeOutlets:
    """Sends to an address or to a device, whichever a target is."""

    addresses: AppriseTransport
    devices: "DeviceTransport"

    async def targets(self) -> list[NoticeTarget]:
        """Return the addresses, then the devices."""
        return [*await self.addresses.targets(), *await self.devices.targets()]

    async def send(self, target: NoticeTarget, message: NoticeMessage) -> str:
        """Send a message; say why it was not taken, empty when it was."""
        outlet = self.devices if target.key.startswith(_DEVICE) else self.addresses
        return await outlet.send(target, message)


@dataclass(frozen=True, slots=True)
class DeviceTransport:
    """Sends messages to subscribed devices, and removes those that are gone."""

    db: Database
    key: PushKey
    now: Callable[[], datetime] = clock.now
    client: PushClient = field(default_factory=PushClient)

    async def targets(self) -> list[NoticeTarget]:
        """Return a target for each device; all of them have one name."""
        found = await devices.list_all(self.db)
        return [NoticeTarget(f"{_DEVICE}{each.id}", ROUTE) for each in found]

    async def send(self, target: NoticeTarget, message: NoticeMessage) -> str:
        """Send a message; say why it was not taken, empty when it was."""
        device = await devices.get(self.db, int(target.key.removeprefix(_DEVICE)))
        if device is None:
            return ""  # it was removed meanwhile
        try:
            status, why_not = await self._post(device, message)
        except Unavailable as error:
            status, why_not = 0, str(error)
        if status in GONE:
            logger.info("Device %s (%s) is not subscribed any more.", device.id, device.name)
            await self._keep(device, remove=True)
            return ""
        if not why_not and not 200 <= status < 300:
            why_not = f"{device.host} refused the message (HTTP {status})"
        problem = f"Not delivered: {why_not.rstrip('.')}." if why_not else ""
        sent_at = device.sent_at if problem else self.now()
        await self._keep(device, problem=problem, sent_at=sent_at)
        return f"Device {device.id} ({device.name}): {problem}" if problem else ""

    async def _post(self, device: Device, message: NoticeMessage) -> tuple[int, str]:
        if self.key.public() != device.key:
            return 0, OTHER_KEY
        origin = f"https://{device.host}"
        headers = {
            "Authorization": self.key.authorization(origin, now=self.now()),
            "Content-Encoding": "aes128gcm",
            "Content-Type": "application/octet-stream",
            "TTL": str(int(ABANDON_AFTER.total_seconds())),
            "Urgency": "high" if message.urgent else "normal",
        }
        public, auth = decode_key(device.p256dh), decode_key(device.auth)
        body = encrypt(payload_of(message), public=public, auth=auth)
        status, why = await self.client.post(device.endpoint, device.host, body, headers)
        return status, f"{device.host} {why}" if why else ""

    async def _keep(self, device: Device, *, remove: bool = False, **values: Any) -> None:
        """Keep what became of a message; that it was sent counts even where this fails."""
        try:
            async with writing(self.db):
                if remove:
                    await devices.remove(self.db, device.id)
                else:
                    await devices.update(self.db, device.id, **values)
        except (Error, TimeoutError) as error:
            logger.info("The state of device %s could not be stored: %s", device.id, error)


def payload_of(message: NoticeMessage) -> bytes:
    """Return a message as the service worker of the app reads it; long ones are cut."""
    size = MAX_CHARS
    while True:
        shown = {"title": message.title, "body": shorten(message.body, size), "link": message.link}
        data = json.dumps(shown, ensure_ascii=False, separators=(",", ":")).encode()
        if len(data) <= MAX_PLAIN_BYTES:
            return data
        size //= 2


def build_outlets(settings: Settings, db: Database) -> NoticeOutlets:
    """Return the targets of a home."""
    return NoticeOutlets(
        AppriseTransport(settings.notify), DeviceTransport(db, PushKey(settings.home))
    )
