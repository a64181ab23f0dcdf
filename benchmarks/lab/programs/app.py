"""The app: an HTTP service that needs the name server, PostgreSQL and Redis for each answer.

`python app.py DIRECTORY`; `app.json` has the addresses. Files in the directory are its faults:
`slow` (seconds per answer), `leak` and `fds` (exhaust the memory or the descriptors), `crash` (exit
after this number of seconds). Release 2 (`release`) has a bug.
"""

import asyncio
import json
import mmap
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import asyncpg
import dns.asyncresolver

HERE = Path(sys.argv[1])
CHUNK = 64 * 2**20
held: list[Any] = []


def flag(name: str) -> str:
    """Return the text of a fault's file; empty if there is none."""
    with suppress(OSError):
        return (HERE / name).read_text().strip()
    return ""


def use_up() -> None:
    """Apply the resource faults: each happens once, and lasts until the process ends."""
    for name in ("leak", "fds"):
        if flag(name):
            (HERE / name).unlink()
            with suppress(MemoryError, OSError):
                while True:
                    held.append(reserve() if name == "leak" else open("/dev/null"))  # noqa: SIM115


def reserve() -> mmap.mmap:
    """Allocate memory, as work on a request does. Raises MemoryError if none is left."""
    try:
        return mmap.mmap(-1, CHUNK)
    except OSError as error:
        raise MemoryError from error


async def health(config: dict[str, Any]) -> None:
    """Check all dependencies of the app. The exception names the failure."""
    use_up()
    await asyncio.sleep(float(flag("slow") or 0))
    reserve().close()
    resolver = dns.asyncresolver.Resolver(configure=False)
    resolver.nameservers, resolver.port = ["127.0.0.1"], config["dns"]
    resolver.lifetime = 1.0
    found = await resolver.resolve(config["name"], "A")
    connection = await asyncpg.connect(
        host=str(found[0]), port=config["postgres"], user="app",
        password=config["password"], database="postgres", timeout=2, ssl=False,
    )  # fmt: skip
    try:
        await connection.fetchval("SELECT 1")
    finally:
        await connection.close()
    async with asyncio.timeout(4):
        reader, writer = await asyncio.open_connection("127.0.0.1", config["redis"])
        writer.write(b"PING\r\n")
        if await reader.readline() != b"+PONG\r\n":
            raise RuntimeError("redis: no answer to PING")
        writer.close()


async def answer(
    config: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Answer one request with the health of the app."""
    status, body = "200 OK", {"status": "ok"}
    with suppress(OSError, asyncio.IncompleteReadError):
        await reader.readuntil(b"\r\n\r\n")
        try:
            if flag("release") == "2":
                raise KeyError("theme")
            await health(config)
        except MemoryError:
            status, body = "500 Internal Server Error", {"error": "MemoryError"}
        except KeyError as error:
            status, body = "500 Internal Server Error", {"error": f"KeyError: {error}"}
        except Exception as error:  # each is the reason why the app is not healthy
            words = f"{type(error).__name__}: {error}"
            status, body = "503 Service Unavailable", {"error": words[:200]}
        if "error" in body:
            print(f"ERROR {body['error']}", flush=True)
        text = json.dumps(body).encode()
        head = f"HTTP/1.1 {status}\r\nContent-Length: {len(text)}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + text)
        await writer.drain()
    writer.close()


async def main() -> None:
    """Serve until a fault ends the process."""
    config = json.loads((HERE / "app.json").read_text())
    server = await asyncio.start_server(
        lambda reader, writer: answer(config, reader, writer), "127.0.0.1", config["port"]
    )
    print(f"INFO serving at {config['port']}", flush=True)
    async with server:
        started = asyncio.get_running_loop().time()
        while True:
            await asyncio.sleep(0.2)
            after = flag("crash")
            if after and asyncio.get_running_loop().time() - started > float(after):
                sys.exit("FATAL job 4711 in the queue is not readable")


asyncio.run(main())
