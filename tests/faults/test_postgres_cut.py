"""The PostgreSQL server dies under load and restarts: acknowledged writes are present."""

import json
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

import direct_writes
from lamplighter.engines import warden
from living import Home, Server
from postgres_server import PostgresServer

KILLS = 8
WRITERS = 4


@pytest.fixture
def mortal() -> Iterator[PostgresServer]:
    """Start a PostgreSQL server that preserves acknowledged writes after a crash."""
    started = PostgresServer({"synchronous_commit": "on", "full_page_writes": "on"})
    yield started
    started.remove()


@pytest.fixture
def web(mortal: PostgresServer, tmp_path: Path) -> Iterator[Server]:
    """Start a web process with its rows on that server."""
    more = {"LAMPLIGHTER_DATABASE_URL": mortal.create("lamplighter")}
    started = Server(Home(tmp_path / "home", more))
    yield started
    started.kill()


class Writer(threading.Thread):
    """Reports numbered events until it is stopped, and records the outcome of each."""

    def __init__(self, server: Server, name: str) -> None:
        super().__init__(name=name)
        self.server, self.stopping = server, threading.Event()
        self.acknowledged: list[str] = []
        self.statuses: Counter[int] = Counter()

    def run(self) -> None:
        with httpx2.Client(base_url=self.server.url, headers=self.server.headers) as client:
            number = 0
            while not self.stopping.is_set():
                text = f"{self.name} {number}"
                body = {"level": "info", "text": text}
                status = client.post("/api/v1/events", json=body, timeout=60).status_code
                self.statuses[status] += 1
                if status == 201:
                    self.acknowledged.append(text)
                number += 1


def test_a_repeatedly_killed_server_loses_no_acknowledged_write(
    web: Server, mortal: PostgresServer
) -> None:
    writers = [Writer(web, f"writer{number}") for number in range(WRITERS)]
    for writer in writers:
        writer.start()
    for _ in range(KILLS):
        _until_more(writers)
        mortal.stop(signal.SIGQUIT)
        mortal.start()
    _until_more(writers)
    for writer in writers:
        writer.stopping.set()
        writer.join(60)

    statuses = sum((writer.statuses for writer in writers), Counter[int]())
    acknowledged = [text for writer in writers for text in writer.acknowledged]
    rows = direct_writes.run(web.home.more["LAMPLIGHTER_DATABASE_URL"], "SELECT text FROM events")
    held = Counter(str(text) for (text,) in rows)
    assert set(statuses) <= {201, 503}, statuses
    assert statuses[503] >= KILLS, f"hardly anything was refused: {statuses}"
    assert [text for text in acknowledged if held[text] != 1] == []
    assert len(acknowledged) > 100
    assert "Traceback" not in web.log
    assert _hears(web), "the feed must go on"
    assert httpx2.get(f"{web.url}/readyz").status_code == 200


def _until_more(writers: list[Writer]) -> None:
    """Wait until 20 more events are acknowledged."""
    deadline = time.monotonic() + 60
    before = sum(len(writer.acknowledged) for writer in writers)
    while sum(len(writer.acknowledged) for writer in writers) < before + 20:
        assert time.monotonic() < deadline, "it does not go on"
        time.sleep(0.01)


def _hears(server: Server) -> bool:
    """Whether the stream delivers an event that is reported now."""
    with (
        httpx2.Client(base_url=server.url, headers=server.headers, timeout=30) as client,
        client.stream("GET", "/api/v1/stream") as stream,
    ):
        lines = stream.iter_lines()
        assert any(line.startswith("event: hello") for line in lines)
        client.post("/api/v1/events", json={"level": "info", "text": "the last one"})
        return any(
            json.loads(line[6:]).get("row", {}).get("text") == "the last one"
            for line in lines
            if line.startswith("data: ") and '"row"' in line
        )


@contextmanager
def hung(server: PostgresServer) -> Iterator[None]:
    """Suspend a server: connections stay open, and nothing is answered."""
    every = [server._process.pid, *warden.descendants(server._process.pid)]
    for each in every:
        os.kill(each, signal.SIGSTOP)
    try:
        yield
    finally:
        for each in every:
            os.kill(each, signal.SIGCONT)


def test_a_server_that_hangs_is_reported_within_seconds(
    web: Server, mortal: PostgresServer
) -> None:
    with httpx2.Client(base_url=web.url, headers=web.headers, timeout=40) as client:
        assert client.get("/readyz").status_code == 200
        with hung(mortal):
            ready = client.get("/readyz")
            healthy = client.get("/agentops/health")
            refused = client.put("/api/v1/halt", json={"reason": "a flood"})
        assert (ready.status_code, healthy.status_code, refused.status_code) == (503, 503, 503)
        assert refused.json()["detail"].endswith("`lamplighter halt` works without it.")
        assert client.get("/api/v1/memories").status_code == 200


def test_a_halt_is_confirmed_while_the_database_cannot_be_read(
    web: Server, mortal: PostgresServer
) -> None:
    other = mortal.open_client("lamplighter")
    other.ask("BEGIN")
    other.ask("LOCK TABLE halts IN ACCESS EXCLUSIVE MODE")

    answer = httpx2.put(
        f"{web.url}/api/v1/halt", json={"reason": "a flood"}, headers=web.headers, timeout=120
    )

    assert answer.status_code == 200, answer.text
    assert answer.json()["halted"]
    assert [each["reason"] for each in answer.json()["pulled"]] == ["a flood"]
    other.close()
