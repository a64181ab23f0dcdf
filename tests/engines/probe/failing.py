"""Services that fail in different ways."""

import asyncio
from typing import Any

from lamplighter.domain.services.check import HttpCheck

QUICK: dict[str, Any] = {"timeout": 2.0, "retries": 0}
REFUSED = "connection refused at 127.0.0.1:{port}"


def replying(status: str, body: bytes = b""):
    async def answer(head: str, writer: asyncio.StreamWriter) -> None:
        lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", "", ""]
        writer.write("\r\n".join(lines).encode() + body)

    return answer


async def closed_port() -> int:
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = int(server.sockets[0].getsockname()[1])
    server.close()
    await server.wait_closed()
    return port


def asks(port: int, scheme: str = "http", host: str = "127.0.0.1", **more: Any) -> HttpCheck:
    return HttpCheck(name="http", url=f"{scheme}://{host}:{port}/login", **(QUICK | more))
