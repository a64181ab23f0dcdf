"""The body of a request as it arrives: of bounded size, and in bounded time."""

import asyncio
from contextlib import suppress
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import Message, Receive, Send

IDLE_SECONDS: Final = 10.0
WHOLE_SECONDS: Final = 120.0
DRAIN_SECONDS: Final = 2.0
DRAIN_BYTES: Final = 4_000_000
LATE: Final = "The body did not arrive in time."


class Body:
    """Passes a body on; of one that was answered before its end the rest is cut off.

    Starlette's own limit of the size answers in other words.
    """

    def __init__(self, headers: Headers, receive: Receive, most: int) -> None:
        self._receive, self._most = receive, most
        self._size = 0
        self._until: float | None = None
        self._arriving = "transfer-encoding" in headers or headers.get("content-length", "0") != "0"

    async def receive(self) -> Message:
        """Receive the next part; raises HTTPException when it is too large or too late."""
        if not self._arriving:
            return await self._receive()
        now = asyncio.get_running_loop().time()
        self._until = self._until or now + WHOLE_SECONDS
        try:
            async with asyncio.timeout_at(min(now + IDLE_SECONDS, self._until)):
                message = await self._part()
        except TimeoutError:
            raise HTTPException(408, LATE) from None
        if self._size > self._most:
            raise HTTPException(413, f"The body is larger than {self._most:,} bytes.")
        return message

    def sending(self, send: Send) -> Send:
        """Return what sends the answer, and closes the connection of a body that still arrives.

        What the client sends meanwhile is read for a moment, so that it gets to read the answer.
        """
        cutting = False

        async def sent(message: Message) -> None:
            nonlocal cutting
            if message["type"] == "http.response.start" and self._arriving:
                cutting = True
                MutableHeaders(scope=message)["Connection"] = "close"
            if cutting and message["type"] == "http.response.body":
                if message.get("more_body", False):
                    await send(message)
                    return
                await send({**message, "more_body": True})
                await self._drain()
                message = {"type": "http.response.body", "body": b"", "more_body": False}
            await send(message)

        return sent

    async def _drain(self) -> None:
        most = self._size + DRAIN_BYTES
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS):
                while self._arriving and self._size < most:
                    await self._part()

    async def _part(self) -> Message:
        message = await self._receive()
        self._size += len(message.get("body", b""))
        self._arriving = bool(message.get("more_body", False))
        return message
