"""Reading the first answer of a server from a connection."""

import asyncio
import socket
from collections.abc import Callable


async def receive(plug: socket.socket, limit: int, *, enough: Callable[[bytes], bool]) -> bytes:
    """Return a server's bytes until they suffice, the server disconnects, or `limit` is reached."""
    answer = b""
    while len(answer) < limit and not enough(answer):
        part = await asyncio.get_running_loop().sock_recv(plug, limit - len(answer))
        if not part:
            break
        answer += part
    return answer
