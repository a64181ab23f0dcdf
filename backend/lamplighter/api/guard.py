"""The guard in front of every route: who may ask from where, and how answers are protected.

A page of another site that makes a browser ask us is stopped by its Origin; one
that makes its own name point here (DNS rebinding) by the Host.
"""

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lamplighter.api.answer import problem

CSP: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "connect-src 'self'",
        "img-src 'self' data:",
        "style-src 'self'",
        "font-src 'self'",
        "worker-src 'self'",
        "manifest-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "require-trusted-types-for 'script'",
        "trusted-types lamplighter",
    )
)
HEADERS: Final = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
MAX_BODY_BYTES: Final = 1_000_000
SAFE: Final = ("GET", "HEAD", "OPTIONS")


class Guard:
    """Lets in only what asks for us by one of our names, and from one of our pages."""

    def __init__(self, app: ASGIApp, hosts: Sequence[str] = ()) -> None:
        self._app = app
        names = "|".join(map(re.escape, (*LOOPBACK, *hosts)))
        self._known = re.compile(rf"(?:{names})(?::\d{{1,5}})?")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer what may not pass, and mark every answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if scope["path"].startswith("/api/"):
                    headers.setdefault("Cache-Control", "no-store")
            await send(message)

        refusal = self._refusal(scope["method"], Headers(scope=scope))
        if refusal:
            await problem(403, refusal)(scope, receive, marked)
        else:
            await self._app(scope, _limited(receive), marked)

    def _refusal(self, method: str, headers: Headers) -> str | None:
        host = headers.get("host", "")
        if not self._known.fullmatch(host.lower()):
            return f"This server is not {host!r}; ask for it as {' or '.join(LOOPBACK[:2])}."
        origin = headers.get("origin")
        if origin is not None and _place(origin) != host.lower():
            return "Another site may not ask this one."
        if method not in SAFE and headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            return "Another site may not change anything here."
        return None


def _limited(receive: Receive) -> Receive:
    """Receive a body, but not one of any size; Starlette's own limit answers in other words."""
    size = 0

    async def limited() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > MAX_BODY_BYTES:
            raise HTTPException(413, f"The body is larger than {MAX_BODY_BYTES:,} bytes.")
        return message

    return limited


def _place(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None
