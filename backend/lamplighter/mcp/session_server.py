"""MCP server for session tools; each session has its own token.

One HTTP server on loopback in the supervisor's own process serves all sessions; the first session
that needs it starts it. The tools and the session of a call depend on the token alone: no output of
a model can change them.
"""

import asyncio
import hmac
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, Self

from lamplighter.engines import ToolEndpoint
from lamplighter.usecases.sessions.toolbox import Tool, ToolOutput, ToolSet

if TYPE_CHECKING:  # slow import: 1 s, and most supervisors never need it
    from lamplighter.mcp.http_server import SessionHttpServer

TOKEN_BYTES: Final = 32
ENDED: Final = ToolOutput(text="The session has ended.", is_error=True)
"""The answer when a session ends before its tool call."""


class SessionClient:
    """An admitted session, and the tools in use."""

    def __init__(self, toolbox: ToolSet, token: str) -> None:
        self.toolbox = toolbox
        self._token = token.encode()
        self._using: set[asyncio.Task[ToolOutput]] = set()

    def shows(self, token: bytes) -> bool:
        """Whether this is the token of the session."""
        return hmac.compare_digest(self._token, token)

    @property
    def tools(self) -> Sequence[Tool]:
        """The tools of the session."""
        return self.toolbox.tools

    async def use(self, name: str, arguments: Mapping[str, Any]) -> ToolOutput:
        """Use a tool, unless the session ends before it answers."""
        task = asyncio.create_task(self.toolbox.use(name, arguments))
        self._using.add(task)
        try:
            await asyncio.wait({task})
        finally:
            task.cancel()
            self._using.discard(task)
        return ENDED if task.cancelled() else task.result()

    async def leave(self) -> None:
        """End the tools in use."""
        using = list(self._using)
        for task in using:
            task.cancel()
        await asyncio.gather(*using, return_exceptions=True)


class SessionServer:
    """Opens the tools of sessions over MCP; the server that answers ends with the context."""

    def __init__(self) -> None:
        self._guests: list[SessionClient] = []
        self._served: SessionHttpServer | None = None
        self._starting = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._served is not None:
            await self._served.end()

    @asynccontextmanager
    async def open(self, toolbox: ToolSet) -> AsyncIterator[ToolEndpoint]:
        """Admit a session during the context."""
        url = await self._listening()
        token = secrets.token_urlsafe(TOKEN_BYTES)
        guest = SessionClient(toolbox, token)
        self._guests.append(guest)
        try:
            yield ToolEndpoint(url, token)
        finally:
            self._guests.remove(guest)
            await guest.leave()

    def guest(self, token: bytes) -> SessionClient | None:
        """Return the session of a token; all tokens are compared, to take constant time."""
        found = [each for each in self._guests if each.shows(token)]
        return found[0] if found else None

    async def _listening(self) -> str:
        async with self._starting:
            if self._served is None or self._served.ended:
                self._served = await asyncio.to_thread(self._made)
                self._served.start()
            return self._served.url

    def _made(self) -> "SessionHttpServer":
        from lamplighter.mcp.http_server import SessionHttpServer

        return SessionHttpServer(self.guest)
