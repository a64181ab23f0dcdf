"""The network between the app and Redis: the file `link` contains `ok`, `down` or a delay."""

import asyncio
import sys
from contextlib import suppress
from pathlib import Path

HERE, PORT, TARGET = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])


def mode() -> str:
    """Return the current state of the link."""
    with suppress(OSError):
        return (HERE / "link").read_text().strip() or "ok"
    return "ok"


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Forward incoming data with the delay of the link."""
    with suppress(OSError):
        while (data := await reader.read(65_536)) and (now := mode()) != "down":
            await asyncio.sleep(0 if now == "ok" else float(now))
            writer.write(data)
            await writer.drain()
    writer.close()


async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Connect a client to Redis while the link is up."""
    try:
        if mode() == "down":
            raise ConnectionError
        inner, outer = await asyncio.open_connection("127.0.0.1", TARGET)
    except OSError:
        writer.close()
        return
    back = asyncio.create_task(copy(inner, writer))
    await copy(reader, outer)
    await back


async def main() -> None:
    """Serve until killed."""
    async with await asyncio.start_server(connect, "127.0.0.1", PORT):
        await asyncio.Event().wait()


asyncio.run(main())
