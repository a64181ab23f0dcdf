import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress

import pytest

Answer = Callable[[str, asyncio.StreamWriter], Awaitable[None]]
Serve = Callable[..., Awaitable[int]]


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Start real servers on loopback; `answer` gets the request's head and the writer."""
    servers: list[asyncio.Server] = []

    async def start(answer: Answer, tls: ssl.SSLContext | None = None) -> int:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                head = await reader.readuntil(b"\r\n\r\n")
                await answer(head.decode("latin-1"), writer)
                await writer.drain()
            writer.close()

        servers.append(await asyncio.start_server(handle, "127.0.0.1", 0, ssl=tls))
        return int(servers[-1].sockets[0].getsockname()[1])

    yield start
    for server in servers:
        server.close()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    handlers = [task for task in others if "handle" in repr(task.get_coro())]
    for task in handlers:
        task.cancel()
    await asyncio.gather(*handlers, return_exceptions=True)
    await asyncio.sleep(0.01)  # a closed transport is gone one turn later
