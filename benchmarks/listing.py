"""A list page of 50 of 100,000 memories over HTTP. Limit: 1/3 of raw sqlite3 + msgspec.

On a busy machine the seconds mean little: a request waits for its turn on two threads. `cpu_of_raw`
compares the processor time, that of the web process and of the client.
"""

import asyncio
import http.client
import json
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Any, Final

import msgspec
import psutil

from app import App  # of e2e/
from benchmarks.measure import in_turn, sized
from benchmarks.memory import MANY, NO_PAGES, _filled, indexed
from lamplighter.repository.store import driver

ASKED: Final = sized(100, short=10)
ADDRESS: Final = "/api/v1/memories?state=active&sort=confidence&limit=50"
QUERY: Final = (
    "SELECT * FROM memories WHERE active = 1 ORDER BY confidence DESC, updated_at DESC, id LIMIT 51"
)


def run() -> dict[str, Any]:
    """Request the page over one persistent connection, in turn with raw rows in one thread."""
    with tempfile.TemporaryDirectory(prefix="lamplighter-") as directory:
        home = Path(directory) / "home"
        home.mkdir()
        asyncio.run(indexed(_filled(home / "lamplighter.db", MANY)))
        app = App(home, NO_PAGES).start("web")
        try:
            with closing(http.client.HTTPConnection("127.0.0.1", app.port)) as connection:
                way_in, web = app.way_in(), psutil.Process(app.running["web"].pid)
                works = (lambda: _ask(connection, way_in)), (lambda: _by_hand(home))
                ours, raw = in_turn(7, *works)
                cpu, raw_cpu = (median(_cpu_of(web, work) for _ in range(7)) for work in works)
        finally:
            app.stop()
    return {
        "pages": ASKED,
        "speed_of_raw": round(raw / ours, 2),
        "cpu_ms": round(1_000 * cpu / ASKED, 2),
        "cpu_of_raw": round(raw_cpu / cpu, 2),
        "held": raw / ours >= 1 / 3,
    }


def _cpu_of(web: psutil.Process, work: Callable[[], None]) -> float:
    """Return the processor time of a piece of work in this process and the web process."""
    before = time.process_time() + sum(web.cpu_times()[:2])
    work()
    return time.process_time() + sum(web.cpu_times()[:2]) - before


def _ask(connection: http.client.HTTPConnection, way_in: dict[str, str]) -> None:
    for _ in range(ASKED):
        connection.request("GET", ADDRESS, headers=way_in)
        body = json.loads(connection.getresponse().read())
        assert len(body["items"]) == 50


def _by_hand(home: Path) -> None:
    with closing(driver.connect(str(home / "lamplighter.db"))) as connection:
        connection.row_factory = driver.Row
        for _ in range(ASKED):
            rows = [dict(row) for row in connection.execute(QUERY).fetchall()]
            json.loads(msgspec.json.encode(rows))
