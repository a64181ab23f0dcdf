"""The worker: writes its heartbeat to Redis, and answers 503 if Redis or its clock is wrong."""

import asyncio
import json
import sys
import time
from pathlib import Path

CONFIG = json.loads((Path(sys.argv[1]) / "app.json").read_text())
MAX_SKEW = 5.0
state = {"error": "no heartbeat yet"}


async def beat() -> None:
    """Write one heartbeat, and compare the clocks."""
    async with asyncio.timeout(4):
        reader, writer = await asyncio.open_connection("127.0.0.1", CONFIG["redis"])
        writer.write(b"SET beat 1\r\nTIME\r\n")
        lines = [await reader.readline() for _ in range(4)]
        writer.close()
    if not lines[3]:
        raise ConnectionError("Redis closed the connection")
    skew = time.time() - int(lines[3])
    if abs(skew) > MAX_SKEW:
        raise ValueError(f"the clock is {skew:.0f} s ahead of Redis")


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer one request with the last heartbeat's error."""
    await reader.readuntil(b"\r\n\r\n")
    text = json.dumps(state or {"status": "ok"}).encode()
    status = "503 Service Unavailable" if state else "200 OK"
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(text)}\r\nConnection: close\r\n\r\n"
    writer.write(head.encode() + text)
    writer.close()


async def main() -> None:
    """Work until killed."""
    async with await asyncio.start_server(answer, "127.0.0.1", int(sys.argv[2])):
        while True:
            state.clear()
            try:
                await beat()
            except Exception as error:  # each is the reason why the worker is not healthy
                state["error"] = str(error) or type(error).__name__
                print(f"ERROR {state['error']}", flush=True)
            await asyncio.sleep(0.5)


asyncio.run(main())
