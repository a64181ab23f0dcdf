"""Charts of 200 services with 90 days of results; limits: 300 ms and 150 kB per response.

The ratio is to the minimum work of a response: the same rows read by raw sqlite3 and encoded.
"""

import http.client
import json
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from app import App  # of e2e/
from benchmarks.measure import sized, spread, timed

SERVICES: Final = sized(200, short=5)
DAYS: Final = sized(90, short=3)
ASKED: Final = sized(30, short=3)
PERIODS: Final = ("1h", "24h", "7d", "30d", "90d")
LIMIT_MS: Final = 300
LIMIT_BYTES: Final = 150_000
STEP: Final = timedelta(minutes=5)
DAY: Final = timedelta(days=1)


def run() -> dict[str, Any]:
    """Request the chart of one service in each period, and the strips of all services."""
    with tempfile.TemporaryDirectory(prefix="lamplighter-") as directory:
        home = Path(directory) / "home"
        home.mkdir()
        app = App(home).start("web")
        try:
            _fill(home)
            with closing(http.client.HTTPConnection("127.0.0.1", app.port)) as connection:
                found = {
                    **{
                        period: _measure(app, connection, f"/services/s1/latency?period={period}")
                        for period in PERIODS
                    },
                    "strips": _measure(app, connection, "/heartbeats"),
                }
            raw = {"90d": _raw_chart(home), "strips": _raw_strips(home)}
        finally:
            app.stop()
    for name, seconds in raw.items():
        found[name]["times_raw"] = round(found[name]["p50_ms"] / 1_000 / seconds, 1)
    return {
        **found,
        "limits": {"ms": LIMIT_MS, "bytes": LIMIT_BYTES},
        "held": all(
            each["p95_ms"] <= LIMIT_MS and each["bytes"] <= LIMIT_BYTES for each in found.values()
        ),
    }


def _measure(app: App, connection: http.client.HTTPConnection, path: str) -> dict[str, Any]:
    size = 0

    def ask() -> None:
        nonlocal size
        connection.request("GET", f"/api/v1{path}", headers=app.way_in())
        answer = connection.getresponse()
        size = len(answer.read())
        assert answer.status == 200

    ask()
    return {**spread([timed(ask) for _ in range(ASKED)]), "bytes": size}


def _raw_chart(home: Path) -> float:
    """Return the seconds that raw sqlite3 takes to read and encode a chart of 90 days."""
    query = (
        "SELECT at, count, failures, p50_ms, p95_ms, max_ms FROM check_aggregates"
        " WHERE span = '1d' AND series_id = 1 ORDER BY at"
    )
    with closing(sqlite3.connect(home / "lamplighter.db")) as rows:
        return _best(lambda: json.dumps(rows.execute(query).fetchall()))


def _raw_strips(home: Path) -> float:
    """Return the seconds that raw sqlite3 takes for 60 results and 30 days of each service."""
    newest = (
        "SELECT at, state, latency_ms FROM check_points WHERE series_id = ? ORDER BY at DESC"
        " LIMIT 60"
    )
    uptime = (
        "SELECT series_id, sum(count), sum(failures) FROM check_aggregates WHERE span = ?"
        " AND at >= ? GROUP BY series_id"
    )
    day, month = ((datetime.now(UTC) - n * DAY).isoformat() for n in (1, 30))
    with closing(sqlite3.connect(home / "lamplighter.db")) as rows:

        def read() -> str:
            strips = [rows.execute(newest, (n + 1,)).fetchall() for n in range(SERVICES)]
            shares = [rows.execute(uptime, each).fetchall() for each in (("1d", month),)]
            return json.dumps([strips, shares])

        assert day > month
        return _best(read)


def _best(work: Any) -> float:
    return min(timed(work) for _ in range(max(5, ASKED)))


def _fill(home: Path) -> None:
    """Store results as 90 days of checks leave them: raw for 2 days, folded before that."""
    lines = [f"  s{n}:\n    checks:\n      - tcp: 127.0.0.1:9\n" for n in range(1, SERVICES + 1)]
    (home / "services.yaml").write_text("services:\n" + "".join(lines))
    now = datetime.now(UTC).replace(second=0, microsecond=0)
    midnight = now.replace(hour=0, minute=0)
    folded = now - timedelta(minutes=now.minute % 5)
    with closing(sqlite3.connect(home / "lamplighter.db", isolation_level=None)) as rows:
        rows.execute("PRAGMA synchronous=OFF")
        rows.execute("BEGIN")
        for number in range(1, SERVICES + 1):
            rows.execute(
                "INSERT INTO check_series (id, service, name, kind, state, streak, attempts,"
                " late_ms, detail, silent, checked_at, changed_at, folded_to, day_folded_to)"
                " VALUES (?, ?, 'tcp', 'tcp', 'passed', 9, 1, 0, '', 0, ?, ?, ?, ?)",
                (number, f"s{number}", *map(_moment, (now, now, folded, midnight))),
            )
            for span, step, end in (("5m", STEP, folded), ("1d", DAY, midnight)):
                rows.executemany(
                    "INSERT INTO check_aggregates VALUES (?, ?, ?, ?, ?, 0, ?, ?, ?, 0, 0)",
                    _aggregates(span, number, midnight - DAYS * DAY, end, step),
                )
            rows.executemany(
                "INSERT INTO check_points VALUES (?, ?, ?, ?, NULL, 1, 0, '', 0)",
                (
                    (number, _moment(now - n * timedelta(minutes=1)), "passed", 20.0 + n % 9)
                    for n in range(2 * 1_440)
                ),
            )
        rows.execute("COMMIT")
    time.sleep(0.5)  # the web process reads services.yaml again


def _aggregates(
    span: str, number: int, start: datetime, end: datetime, step: timedelta
) -> Iterator[tuple[Any, ...]]:
    results = step // timedelta(minutes=1)
    for n in range((end - start) // step):
        slow = 20.0 + (n * 7 + number) % 50
        failed = int(n % 400 == 0)
        yield span, number, _moment(start + n * step), results, failed, slow, slow * 2, slow * 3


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%S.%fZ}"
