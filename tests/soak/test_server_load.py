"""Five hundred streams and two hundred writers at one web process: it sheds load and recovers."""

import asyncio
import sys
from collections import Counter
from pathlib import Path

import httpx2

from lamplighter.repository.store.backend import MAX_WAITING
from living import Home, Server

STREAMS, WRITERS, WRITES = 500, 200, 10
REFUSED = 503


async def follow(server: Server, opened: Counter[str], ready: asyncio.Event) -> None:
    """Open a stream and read it until it is closed or cancelled."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    way_in = server.headers["Authorization"]
    head = f"GET /api/v1/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {way_in}\r\n\r\n"
    writer.write(head.encode())
    try:
        status = (await reader.readline()).split(b" ")[1:2]
        opened[b"".join(status).decode()] += 1
        if opened.total() == STREAMS:
            ready.set()
        while await reader.read(65_536):
            pass
        opened["closed"] += 1
    finally:
        writer.close()


async def write(client: httpx2.AsyncClient, answered: Counter[int]) -> None:
    """Send events one after another; each is accepted, or refused with a time to retry."""
    for number in range(WRITES):
        event = {"level": "info", "text": f"Event number {number}"}
        answer = await client.post("/api/v1/events", json=event)
        answered[answer.status_code] += 1
        assert answer.status_code in (201, REFUSED), answer.text
        if answer.status_code == REFUSED:
            assert int(answer.headers["Retry-After"]) >= 1


async def loaded(server: Server) -> tuple[Counter[str], Counter[int]]:
    opened: Counter[str] = Counter()
    answered: Counter[int] = Counter()
    ready = asyncio.Event()
    # the server closes idle connections: a client has to give them up before
    limits = httpx2.Limits(max_connections=WRITERS, keepalive_expiry=1)
    async with httpx2.AsyncClient(
        base_url=server.url, headers=server.headers, limits=limits, timeout=120, trust_env=False
    ) as client:
        streams = [asyncio.create_task(follow(server, opened, ready)) for _ in range(STREAMS)]
        await ready.wait()
        await asyncio.gather(*(write(client, answered) for _ in range(WRITERS)))
        for stream in streams:
            stream.cancel()
        await asyncio.gather(*streams, return_exceptions=True)
    return opened, answered


def test_server_refuses_excess_writes_and_recovers(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    server = Server(home)
    try:
        opened, answered = asyncio.run(loaded(server))
        share = answered[REFUSED] / sum(answered.values())
        sys.stdout.write(f"streams {dict(opened)}, writes {dict(answered)}, {share:.0%} refused\n")

        assert dict(opened) == {"200": STREAMS}, "each stream opens and stays open"
        assert sum(answered.values()) == WRITERS * WRITES, "each write is answered, 201 or 503"
        assert answered[201] >= MAX_WAITING[False], "as many as may wait are served"
        assert home.value("SELECT count(*) FROM events WHERE text LIKE 'Event%'") == answered[201]
        assert "Traceback" not in server.log
        after = httpx2.post(
            f"{server.url}/api/v1/events",
            headers=server.headers,
            json={"level": "info", "text": "After"},
            timeout=10,
        )
        assert after.status_code == 201
    finally:
        server.kill()
