"""The MCP endpoint: the tools of clients in the web process, behind its guard.

The server is loaded with the first request: most installations never receive one.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from lamplighter.domain.errors import Unavailable
from lamplighter.mcp.client_context import ClientContext

if TYPE_CHECKING:  # slow import: 1 s
    from lamplighter.mcp.streamable import Streamable

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class Endpoint:
    """An ASGI application that answers MCP while its context is open."""

    def __init__(self) -> None:
        self._context: ClientContext | None = None
        self._streamable: Streamable | None = None
        self._starting = asyncio.Lock()

    @asynccontextmanager
    async def open(self, here: ClientContext) -> AsyncIterator[None]:
        """Answer for as long as the context lasts."""
        self._context = here
        try:
            yield
        finally:
            self._context = None
            if self._streamable is not None:
                await self._streamable.end()
                self._streamable = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request of an authorized caller."""
        streamable = await self._started()
        await streamable.answer(scope, receive, send)

    async def _started(self) -> "Streamable":
        async with self._starting:
            if self._context is None:
                raise Unavailable("This server is shutting down. Send the request again.")
            if self._streamable is None:
                made = await asyncio.to_thread(_build_server, self._context)
                await made.start()
                self._streamable = made
            return self._streamable


def _build_server(here: ClientContext) -> "Streamable":
    from lamplighter.mcp.streamable import Streamable

    return Streamable(here)
