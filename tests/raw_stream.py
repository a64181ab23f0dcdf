"""A client of the change feed on a raw socket, which can be cut at any byte."""

import asyncio
import json
import random
import socket
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from living import Server

RETRY_SECONDS = 0.05


@dataclass
class Follower:
    """A client that follows the feed and records every number; it reconnects after each cut."""

    server: Server
    last: int
    heard: list[int] = field(default_factory=list)
    memories: dict[int, dict[str, Any]] = field(default_factory=dict)
    cuts: int = 0
    refused: int = 0
    resets: int = 0

    async def until(self, seq: int, *, mean_bytes: int = 0, chance: random.Random) -> None:
        """Follow until `seq` was received; cut the connection about every `mean_bytes` bytes."""
        while self.last < seq:
            left = chance.randrange(1, 2 * mean_bytes) if mean_bytes else 10**12
            try:
                await self._follow(seq, left)
            except (OSError, EOFError, ValueError):
                self.refused += 1  # nobody is there, or the server was killed in mid-answer
                await asyncio.sleep(RETRY_SECONDS)

    async def _follow(self, seq: int, left: int) -> None:
        reader, writer = await connected(self.server, self.last)
        try:
            rest = b""
            async for part in chunks(reader):
                taken, left = part[:left], left - len(part)
                *frames, rest = (rest + taken).split(b"\n\n")
                for frame in frames:
                    self._hear(frame)
                if left <= 0:
                    self.cuts += 1
                    return
                if self.last >= seq:
                    return
        finally:
            writer.transport.abort()

    def _hear(self, frame: bytes) -> None:
        fields = dict(line.partition(b": ")[::2] for line in frame.split(b"\n"))
        if b"id" not in fields:
            return
        self.last = int(fields[b"id"])
        if fields[b"event"] == b"reset":
            self.resets += 1
        elif fields[b"event"] != b"hello":
            self.heard.append(self.last)
            self._apply(fields[b"event"], json.loads(fields[b"data"]))

    def _apply(self, entity: bytes, change: dict[str, Any]) -> None:
        if entity == b"memory" and change["op"] == "deleted":
            self.memories.pop(change["id"], None)
        elif entity == b"memory":
            self.memories[change["id"]] = change["row"]


async def connected(
    server: Server, last: int, *, receive_bytes: int = 0
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Request the stream after `last`, and return it at its first byte."""
    own = socket.socket()
    own.setblocking(False)
    if receive_bytes:
        own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    try:
        await asyncio.get_running_loop().sock_connect(own, ("127.0.0.1", server.port))
    except OSError:
        own.close()
        raise
    reader, writer = await asyncio.open_connection(sock=own, limit=2**16)
    headers = {
        "Host": f"127.0.0.1:{server.port}",
        "Last-Event-ID": str(last),
        **getattr(server, "headers", {}),
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"GET /api/v1/stream HTTP/1.1\r\n{lines}\r\n".encode())
    if receive_bytes:
        return reader, writer
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        if b" 200 " not in head.split(b"\r\n")[0] or b"transfer-encoding: chunked" not in head:
            raise AssertionError(head)
    except BaseException:
        writer.transport.abort()
        raise
    return reader, writer


async def chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Yield the parts of a chunked body as they arrive."""
    while True:
        size = int(await reader.readline(), 16)
        left = size + 2
        while left > 0:
            part = await reader.read(left)
            if not part:
                raise EOFError
            body = part if left - len(part) >= 2 else part[: max(0, left - 2)]
            left -= len(part)
            if body:
                yield body
        if not size:
            return


async def drained(reader: asyncio.StreamReader) -> bytes:
    """Read the remaining bytes of a socket that the server has closed."""
    found = b""
    with suppress(OSError):
        while part := await reader.read(2**16):
            found += part
    return found
