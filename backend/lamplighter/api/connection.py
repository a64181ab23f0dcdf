"""The web server, and its connections: one without a request head in time is closed."""

import asyncio
from contextlib import suppress
from types import FrameType
from typing import Final

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_SECONDS: Final = 10.0
KEEP_SECONDS: Final = 30
"""An idle connection stays open longer than common clients use it again: httpx, 5 s."""

GRACE_SECONDS: Final = 0.05
"""After a stall, timers run before the bytes that arrived meanwhile are read."""

TICK_SECONDS: Final = 1.0


class WebServer(uvicorn.Server):
    """Wakes once a second for the date of its responses, and at a signal; uvicorn wakes ten times.

    A signal that arrives before the server is ready is handled when it is.
    """

    _loop: asyncio.AbstractEventLoop | None = None

    async def main_loop(self) -> None:
        """Serve until a signal ends the process."""
        self._signaled = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        while not await self.on_tick(0):
            with suppress(TimeoutError):
                async with asyncio.timeout(TICK_SECONDS):
                    await self._signaled.wait()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End, at once."""
        super().handle_exit(sig, frame)
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._signaled.set)


class TimedConnection(HttpToolsProtocol):
    """Waits for a request head only so long; uvicorn itself would wait forever.

    A connection is not closed if its request has arrived in time and waits to be read.
    """

    _head: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait with the connection."""
        super().connection_made(transport)
        self._begin()

    def on_message_begin(self) -> None:
        """Begin to wait with the first byte of a further request."""
        super().on_message_begin()
        self._begin()

    def on_headers_complete(self) -> None:
        """Wait no more: the head is there."""
        self._end()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting: the client has disconnected."""
        self._end()
        super().connection_lost(exc)

    def _begin(self) -> None:
        if self._head is None:
            self._head = self.loop.call_later(HEAD_SECONDS, self._late)

    def _end(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _late(self) -> None:
        self._head = self.loop.call_later(GRACE_SECONDS, self.transport.close)

    def _close_idle(self) -> None:
        close = super().timeout_keep_alive_handler
        self.timeout_keep_alive_task = self.loop.call_later(GRACE_SECONDS, close)

    timeout_keep_alive_handler = _close_idle  # uvicorn calls it
