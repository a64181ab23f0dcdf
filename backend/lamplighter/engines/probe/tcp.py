"""One attempt of a TCP check."""

import asyncio
import socket

from lamplighter.domain.service import TcpCheck
from lamplighter.engines.probe import network
from lamplighter.engines.probe.facts import Answer


async def ask(check: TcpCheck) -> Answer:
    """Connect and hang up; the first address that takes the connection will do."""
    addresses = await network.addresses(check.host, check.port)
    for left, address in enumerate(addresses, 1 - len(addresses)):
        try:
            async with asyncio.timeout(check.timeout / len(addresses)):
                await _connect(address, check.port)
                break
        except OSError:
            if left == 0:
                raise
    return Answer(ok=True)


async def _connect(address: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as plug:
        plug.setblocking(False)
        await asyncio.get_running_loop().sock_connect(plug, (address, port))
