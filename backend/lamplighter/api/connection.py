"""A connection of the web server: one whose request head does not arrive in time is closed."""

import asyncio
from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_SECONDS: Final = 10.0


class TimedConnection(HttpToolsProtocol):
    """Waits for a request head only so long; uvicorn itself would wait forever."""

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
        self._head = None
        self.transport.close()
