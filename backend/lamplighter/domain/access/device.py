"""Validation of a browser's push subscription, before it becomes a device."""

import base64
import binascii
import ipaddress
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from lamplighter.domain.errors import Invalid, InvalidField

MAX_DEVICES: Final = 50
MAX_ENDPOINT_CHARS: Final = 1_000
MAX_KEY_CHARS: Final = 200
ROUTE: Final = "push"
"""The name of all devices in `notify` of a service."""

PUBLIC_KEY_BYTES: Final = 65
SECRET_BYTES: Final = 16
PUSH_SERVICES: Final = (
    "fcm.googleapis.com",
    "push.services.mozilla.com",
    "push.apple.com",
    "notify.windows.com",
)
"""The push services of the common browsers; their hosts are these names or below."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """The subscription of a browser; `replaces` is its previous endpoint."""

    endpoint: str
    p256dh: str
    auth: str
    replaces: str | None = None


_HOST: Final = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,250}[a-z0-9])?")


def encode_key(data: bytes) -> str:
    """Return bytes as the text that browsers use for keys."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode_key(text: str) -> bytes:
    """Return the bytes of a key; raises ValueError."""
    if not re.fullmatch(r"[A-Za-z0-9_-]*", text):
        raise ValueError("not base64url")
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def endpoint_host(endpoint: str) -> str:
    """Return the host of a push service's URL; raises Invalid if the URL cannot be one."""
    with suppress(ValueError):
        parts = urlsplit(endpoint)
        host = (parts.hostname or "").lower()
        usual = parts.scheme == "https" and parts.port in (None, 443) and "@" not in parts.netloc
        if usual and endpoint.isascii() and _HOST.fullmatch(host) and not _is_address(host):
            return host
    raise Invalid(InvalidField("endpoint", "is not the HTTPS address of a push service"))


def validate_keys(p256dh: str, auth: str) -> None:
    """Raise Invalid unless both are valid keys of a subscription."""
    sizes = {"p256dh": (p256dh, PUBLIC_KEY_BYTES), "auth": (auth, SECRET_BYTES)}
    for name, (text, size) in sizes.items():
        found = b""
        with suppress(ValueError, binascii.Error):
            found = decode_key(text)
        if len(found) != size:
            raise Invalid(InvalidField(name, f"must be {size} bytes in base64url"))


def is_push_service(host: str) -> bool:
    """Whether a host belongs to one of the common push services."""
    return any(host == each or host.endswith(f".{each}") for each in PUSH_SERVICES)


def _is_address(host: str) -> bool:
    with suppress(ValueError):
        ipaddress.ip_address(host)
        return True
    return "." not in host or host.rsplit(".", 1)[1].isdigit()
