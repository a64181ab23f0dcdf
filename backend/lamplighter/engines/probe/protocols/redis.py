"""One attempt of a Redis check: PING, and the first line of the answer."""

import asyncio
from typing import Final

from lamplighter.domain.services.check import RedisCheck
from lamplighter.engines.probe import network
from lamplighter.engines.probe.facts import ProbeAnswer
from lamplighter.engines.probe.protocols.exchange import receive
from lamplighter.engines.probe.text import harmless

ANSWER_BYTES: Final = 1_024


async def probe_redis(check: RedisCheck) -> ProbeAnswer:
    """Send PING; a server that requires a password is healthy, one that loads its data is not."""
    async with network.open_connection(check.host, check.port, within=check.timeout) as plug:
        await asyncio.get_running_loop().sock_sendall(plug, b"PING\r\n")
        answer = await receive(plug, ANSWER_BYTES, enough=lambda found: b"\r\n" in found)
    line = answer.partition(b"\r\n")[0].decode(errors="replace")
    if line == "+PONG" or line.startswith("-NOAUTH"):
        return ProbeAnswer(ok=True, answered=True)
    if line.startswith("-"):
        return ProbeAnswer(ok=False, answered=True, detail=harmless(f"answered {line[1:]}"))
    return ProbeAnswer(ok=False, answered=False, detail="not a Redis answer")
