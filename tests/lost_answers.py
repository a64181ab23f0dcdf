"""A connection to PostgreSQL that is cut after a commit, before its answer arrives."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

SOCKET = ".s.PGSQL.5432"
COMMIT = b"Q\x00\x00\x00\x0cCOMMIT;\x00", b"Q\x00\x00\x00\x0bCOMMIT\x00"


@asynccontextmanager
async def losing(url: str, directory: Path, loses: Callable[[], bool]) -> AsyncIterator[str]:
    """Relay the connections to a database; after each commit, `loses` decides about its answer."""
    address, _, server = url.partition("?host=")

    relays: set[asyncio.Task[None] | None] = set()

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        relays.add(asyncio.current_task())
        down, up = await asyncio.open_unix_connection(f"{server}/{SOCKET}")
        lost = asyncio.Event()

        async def back() -> None:
            while (data := await down.read(65_536)) and not lost.is_set():
                writer.write(data)
            writer.close()

        returning = asyncio.create_task(back())
        with suppress(OSError):
            while data := await reader.read(65_536):
                if data.startswith(COMMIT) and loses():
                    lost.set()
                    up.write(data)
                    await returning  # the server has answered
                    break
                up.write(data)
        returning.cancel()
        up.close()
        writer.close()

    relaying = await asyncio.start_unix_server(relay, directory / SOCKET)
    try:
        yield f"{address}?host={directory}"
    finally:
        relaying.close()
        for each in filter(None, relays):
            await asyncio.wait({each}, timeout=5)  # its client has disconnected
