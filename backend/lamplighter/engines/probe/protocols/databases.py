"""Attempts of PostgreSQL and Redis checks: the first answer of a server, without a login."""

import asyncio
import socket
import struct
from collections.abc import Callable
from typing import Final

from lamplighter.domain.services.check import PostgresCheck, RedisCheck
from lamplighter.engines.probe import network
from lamplighter.engines.probe.facts import ProbeAnswer
from lamplighter.engines.probe.text import harmless


async def receive(plug: socket.socket, limit: int, *, enough: Callable[[bytes], bool]) -> bytes:
    """Return a server's bytes until they suffice, the server disconnects, or `limit` is reached."""
    answer = b""
    while len(answer) < limit and not enough(answer):
        part = await asyncio.get_running_loop().sock_recv(plug, limit - len(answer))
        if not part:
            break
        answer += part
    return answer


VERSION: Final = 196_608
"""Version 3.0 of the protocol, as its first message has it."""

POSTGRES_BYTES: Final = 8_192
_NOT_READY: Final = ("57P03", "53300", "57P01", "57P02")
"""Starting up or shutting down, too many connections: SQLSTATE of appendix A of its manual."""


async def probe_postgres(check: PostgresCheck) -> ProbeAnswer:
    """Request a session, and disconnect after the first answer; no password is sent."""
    async with network.open_connection(check.host, check.port, within=check.timeout) as plug:
        parameters = b"user\0lamplighter\0database\0postgres\0application_name\0lamplighter\0\0"
        message = struct.pack("!ii", len(parameters) + 8, VERSION) + parameters
        await asyncio.get_running_loop().sock_sendall(plug, message)
        return _judge(await receive(plug, POSTGRES_BYTES, enough=_is_whole))


def _is_whole(answer: bytes) -> bool:
    return len(answer) >= 5 and len(answer) > struct.unpack("!i", answer[1:5])[0]


def _judge(answer: bytes) -> ProbeAnswer:
    if answer[:1] == b"R":  # requests a password, or accepts the login
        return ProbeAnswer(ok=True, answered=True)
    if answer[:1] != b"E" or len(answer) < 6:
        return ProbeAnswer(ok=False, answered=False, detail="not a PostgreSQL answer")
    fields = {
        each[:1]: each[1:].decode(errors="replace") for each in answer[5:].split(b"\0") if each
    }
    code, message = fields.get(b"C", ""), fields.get(b"M", "")
    if code not in _NOT_READY:  # a server that checks logins accepts connections
        return ProbeAnswer(ok=True, answered=True)
    return ProbeAnswer(ok=False, answered=False, detail=harmless(f"{message} ({code})"))


REDIS_BYTES: Final = 1_024


async def probe_redis(check: RedisCheck) -> ProbeAnswer:
    """Send PING; a server that requires a password is healthy, one that loads its data is not."""
    async with network.open_connection(check.host, check.port, within=check.timeout) as plug:
        await asyncio.get_running_loop().sock_sendall(plug, b"PING\r\n")
        answer = await receive(plug, REDIS_BYTES, enough=lambda found: b"\r\n" in found)
    line = answer.partition(b"\r\n")[0].decode(errors="replace")
    if line == "+PONG" or line.startswith("-NOAUTH"):
        return ProbeAnswer(ok=True, answered=True)
    if line.startswith("-"):
        return ProbeAnswer(ok=False, answered=True, detail=harmless(f"answered {line[1:]}"))
    return ProbeAnswer(ok=False, answered=False, detail="not a Redis answer")
