"""A list page of 50 of 100,000 memories over HTTP. Held to 1/3 of raw sqlite3 + msgspec."""

import asyncio
import http.client
import json
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import msgspec

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
    """Ask for the page over one kept connection; beside it the rows by hand in one thread."""
    with tempfile.TemporaryDirectory(prefix="lamplighter-") as directory:
        home = Path(directory) / "home"
        home.mkdir()
        asyncio.run(indexed(_filled(home / "lamplighter.db", MANY)))
        app = App(home, NO_PAGES).start("web")
        try:
            with closing(http.client.HTTPConnection("127.0.0.1", app.port)) as connection:
                way_in = app.way_in()
                ours, raw = in_turn(7, lambda: _ask(connection, way_in), lambda: _by_hand(home))
        finally:
            app.stop()
    return {"pages": ASKED, "speed_of_raw": round(raw / ours, 2), "held": raw / ours >= 1 / 3}


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
