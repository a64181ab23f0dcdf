"""The notification targets of this home: the addresses of its settings, and its devices."""

import asyncio
import ipaddress
import json
import logging
import os
import socket
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from lamplighter import clock
from lamplighter.config.settings import Settings
from lamplighter.domain.access.access import Device
from lamplighter.domain.access.device import ROUTE, decode_key, is_push_service
from lamplighter.domain.errors import Unavailable
from lamplighter.domain.services.notice import ABANDON_AFTER, NoticeMessage, NoticeTarget
from lamplighter.domain.text import shorten
from lamplighter.repository import Database, writing
from lamplighter.repository.access import devices
from lamplighter.repository.store.driver import Error
from lamplighter.serve.outbox import AppriseTransport
from lamplighter.serve.push.keys import PushKey

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey


SEND_SECONDS: Final = 20.0
NOT_PUBLIC: Final = "has an address that is not public"


@dataclass(frozen=True, slots=True)
class PushClient:
    """Posts messages over HTTPS without redirects; `trusted` hosts may have any address.

    The address of a push service comes from a browser. It is therefore resolved here, and the
    connection goes to the address that was checked.
    """

    trusted: Callable[[str], bool] = is_push_service
    tls: ssl.SSLContext | None = None

    async def post(
        self, endpoint: str, host: str, body: bytes, headers: Mapping[str, str]
    ) -> tuple[int, str]:
        """Post a message; return the status, or 0 with the reason of a failure."""
        import httpx2

        try:
            async with asyncio.timeout(SEND_SECONDS):
                url = httpx2.URL(endpoint)
                address = await self._resolve(host, url.port or 443)
                if not address:
                    return 0, NOT_PUBLIC
                verify = self.tls or ssl.create_default_context()
                async with httpx2.AsyncClient(verify=verify, trust_env=False) as client:
                    request = client.build_request(
                        "POST",
                        url.copy_with(host=address),
                        content=body,
                        headers={**headers, "Host": url.netloc.decode()},
                        extensions={"sni_hostname": host},
                    )
                    answer = await client.send(request, stream=True, follow_redirects=False)
                    await answer.aclose()
                    return answer.status_code, ""
        except TimeoutError:
            return 0, f"did not answer within {SEND_SECONDS:.0f} s"
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
            return 0, f"could not be reached ({type(error).__name__})"

    async def _resolve(self, host: str, port: int) -> str:
        """Return an address of a host; empty if one of its addresses is not public."""
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = [str(each[4][0]) for each in found]
        public = all(ipaddress.ip_address(each.split("%")[0]).is_global for each in addresses)
        return addresses[0] if addresses and (public or self.trusted(host)) else ""


RECORD_BYTES: Final = 4_096
MAX_PLAIN_BYTES: Final = 3_900
"""Push services accept 4,096 bytes; the header, the tag and the delimiter are 103 of them."""

_SALT_BYTES: Final = 16
_LAST_RECORD: Final = b"\x02"


def encrypt(
    plaintext: bytes,
    *,
    public: bytes,
    auth: bytes,
    private: "EllipticCurvePrivateKey | None" = None,
    salt: bytes = b"",
) -> bytes:
    """Return a message that only the browser with the key of `public` can read.

    It is one record of RFC 8188, as RFC 8291 has it.
    `private` and `salt` are new for each message, but for the example of the RFC.
    """
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    private = private or ec.generate_private_key(ec.SECP256R1())
    salt = salt or os.urandom(_SALT_BYTES)
    own = private.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    theirs = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), public)
    shared = private.exchange(ec.ECDH(), theirs)
    keying = _derive(shared, auth, b"WebPush: info\0" + public + own, 32)
    key = _derive(keying, salt, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derive(keying, salt, b"Content-Encoding: nonce\0", 12)
    sealed = AESGCM(key).encrypt(nonce, plaintext + _LAST_RECORD, None)
    return salt + RECORD_BYTES.to_bytes(4) + bytes([len(own)]) + own + sealed


def _derive(material: bytes, salt: bytes, info: bytes, size: int) -> bytes:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(hashes.SHA256(), size, salt, info).derive(material)


logger = logging.getLogger(__name__)

GONE: Final = (404, 410)
"""The answers of a push service for a browser that has unsubscribed."""

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
        """Send a message; return the reason of a failure, empty after a delivery."""
        outlet = self.devices if target.key.startswith(_DEVICE) else self.addresses
        return await outlet.send(target, message)


@dataclass(frozen=True, slots=True)
class DeviceTransport:
    """Sends messages to subscribed devices, and removes those that have unsubscribed."""

    db: Database
    key: PushKey
    now: Callable[[], datetime] = clock.now
    client: PushClient = field(default_factory=PushClient)

    async def targets(self) -> list[NoticeTarget]:
        """Return a target for each device; all of them have one name."""
        found = await devices.list_all(self.db)
        return [NoticeTarget(f"{_DEVICE}{each.id}", ROUTE) for each in found]

    async def send(self, target: NoticeTarget, message: NoticeMessage) -> str:
        """Send a message; return the reason of a failure, empty after a delivery."""
        device = await devices.get(self.db, int(target.key.removeprefix(_DEVICE)))
        if device is None:
            return ""  # the device was removed meanwhile
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
        """Store the result of a message; the message counts as sent even if this fails."""
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
