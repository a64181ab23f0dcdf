"""The overview with 100,000 memories and thirty days of check results. Limit: p95 <= 50 ms."""

import asyncio
import http.client
import json
import tempfile
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from app import App  # of e2e/
from benchmarks.measure import sized, spread
from benchmarks.memory import MANY, NO_PAGES, _filled, indexed
from lamplighter.repository.store import driver

SERVICES: Final = 20
DAYS: Final = 30
ASKED: Final = sized(100, short=10)
LIMIT_MS: Final = 50


def run() -> dict[str, Any]:
    """Request the overview over one open connection, in turn with a route that does nothing."""
    with tempfile.TemporaryDirectory(prefix="lamplighter-") as directory:
        home = Path(directory) / "home"
        home.mkdir()
        asyncio.run(indexed(_filled(home / "lamplighter.db", MANY)))
        _looked(home)
        app = App(home, NO_PAGES).start("web")
        try:
            with closing(http.client.HTTPConnection("127.0.0.1", app.port)) as connection:
                way_in = app.way_in()
                _ask(connection, "/api/v1/overview", way_in)
                ours = spread([_ask(connection, "/api/v1/overview", way_in) for _ in range(ASKED)])
                bare = spread([_ask(connection, "/healthz", way_in) for _ in range(ASKED)])
        finally:
            app.stop()
    ratio = round(ours["p50_ms"] / bare["p50_ms"], 1)
    held = ours["p95_ms"] <= LIMIT_MS
    return {**ours, "times_a_bare_route": ratio, "limit_ms": LIMIT_MS, "held": held}


def _ask(connection: http.client.HTTPConnection, address: str, way_in: dict[str, str]) -> float:
    began = time.perf_counter()
    connection.request("GET", address, headers=way_in)
    json.loads(connection.getresponse().read())
    return time.perf_counter() - began


def _looked(home: Path) -> None:
    """Store the results of two checks per hour for each service."""
    names = [f"svc{number}" for number in range(SERVICES)]
    check = "[{name: web, tcp: 127.0.0.1:9}, {name: api, tcp: 127.0.0.1:10}]"
    services = "".join(f"  {name}:\n    checks: {check}\n" for name in names)
    (home / "services.yaml").write_text(f"services:\n{services}")
    now = datetime.now(UTC)
    hours = [now - timedelta(hours=hour) for hour in range(24 * DAYS, 0, -1)]
    looks = [
        (1, name, each, "tcp", int(hour % 50 > 0), f"{at:%Y-%m-%dT%H:%M:%S.%fZ}")
        for hour, at in enumerate(hours)
        for name in names
        for each in ("web", "api")
    ]
    days = {(look[1], look[5][:10]) for look in looks}
    with closing(driver.connect(str(home / "lamplighter.db"))) as connection:
        connection.execute("BEGIN")
        connection.execute("INSERT INTO sessions (started_at) VALUES (?)", (looks[-1][5],))
        connection.executemany(
            "INSERT INTO checks (session_id, service, name, kind, ok, at) VALUES (?,?,?,?,?,?)",
            looks,
        )
        connection.executemany(
            "INSERT INTO days (service, day, looks, failed, warned) VALUES (?,?,48,1,0)",
            sorted(days),
        )
        connection.execute("COMMIT")
