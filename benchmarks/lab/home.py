"""A real Lamplighter home on one world: `lamplighter up`, and its recorded incidents."""

import http.server
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from benchmarks.lab.world import World
from living import free_port

ROUNDS: Final = "100s"
"""Two healthy rounds, which reset the restart limit, fit between two repeats."""

SETTINGS: Final = {
    "LAMPLIGHTER_INTERVAL": ROUNDS,
    "LAMPLIGHTER_COOLDOWN_RESET": "60s",
    "LAMPLIGHTER_FLAP_LIMIT": "0",
    "LAMPLIGHTER_VECTORS": "off",
    "LAMPLIGHTER_NOTEBOOK": "no",
    "LAMPLIGHTER_ORGANIZE": "0",
    "LAMPLIGHTER_MEMORY_HEALTH": "0",
    "LAMPLIGHTER_VERIFY_INTERVAL": "0",
}


@dataclass(frozen=True, slots=True)
class IncidentRow:
    """One incident as the home recorded it; times are seconds since the epoch."""

    id: int
    root: str
    services: tuple[str, ...]
    severity: str
    title: str
    outcome: str
    detected_at: float
    resolved_at: float | None
    person_at: float | None


class Inbox:
    """The address that receives notifications; it counts them."""

    def __init__(self) -> None:
        self.messages: list[tuple[float, str]] = []
        inbox = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                title = str(json.loads(body).get("title", ""))
                inbox.messages.append((time.time(), title))
                self.send_response(200)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                """Print nothing."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"json://127.0.0.1:{self._server.server_address[1]}/"

    def close(self) -> None:
        """Stop accepting messages."""
        self._server.shutdown()
        self._server.server_close()


@dataclass
class LabHome:
    """The home of one class, reused for its repeats."""

    world: World
    interval: int
    settings: Mapping[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)
    inbox: Inbox = field(default_factory=Inbox)
    _process: subprocess.Popen[bytes] | None = None

    @property
    def path(self) -> Path:
        """The directory of the home."""
        return self.world.path("home")

    @property
    def _env(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        own = {
            "LAMPLIGHTER_HOME": str(self.path),
            "LAMPLIGHTER_PORT": str(self.port),
            "LAMPLIGHTER_NOTIFY": self.inbox.url,
        }
        return {**kept, **SETTINGS, **own, **self.settings}

    def start(self) -> None:
        """Write services.yaml, start the product and pass the job its push address."""
        self.path.mkdir()
        (self.path / "services.yaml").write_text(self.world.services(self.interval))
        with self.world.path("lamplighter.out").open("wb") as log:
            program = [sys.executable, "-m", "lamplighter", "up"]
            self._process = subprocess.Popen(program, env=self._env, stdout=log, stderr=log)
        deadline = time.monotonic() + 150
        while not self._is_ready():
            if time.monotonic() > deadline or self._process.poll() is not None:
                words = self.world.path("lamplighter.out").read_text()[-1_000:]
                raise RuntimeError(f"Lamplighter did not start: {words}")
            time.sleep(0.2)
        made = self._run("services", "push-key", "backup/nightly", "--json")
        self.world.write("push-url", json.loads(made)["url"])

    def _is_ready(self) -> bool:
        with suppress(OSError):
            address = f"http://127.0.0.1:{self.port}/readyz"
            with urllib.request.urlopen(address, timeout=2) as answer:
                return bool(answer.status == 200)
        return False

    def _run(self, *words: str) -> str:
        program = [sys.executable, "-m", "lamplighter", *words]
        return subprocess.run(
            program, env=self._env, check=True, capture_output=True, text=True
        ).stdout

    def close(self) -> None:
        """Stop the product."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(20)
            self._process.kill()
            self._process.wait()
        self.inbox.close()

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows of a query on the home's database."""
        address = f"file:{self.path / 'lamplighter.db'}?mode=ro"
        with (
            suppress(sqlite3.OperationalError),
            closing(sqlite3.connect(address, uri=True, timeout=5)) as database,
        ):
            return database.execute(query, values).fetchall()
        return []

    def incidents(self, since: float) -> list[IncidentRow]:
        """Return the incidents detected since this time."""
        found = self.rows(
            "SELECT id, service, services, severity, title, outcome, detected_at, resolved_at,"
            " COALESCE(person_notified_at, (SELECT MIN(e.at) FROM incident_entries e"
            " WHERE e.incident_id = i.id AND e.kind = 'state' AND e.text = 'needs_person'))"
            " FROM incidents i WHERE merged_into IS NULL ORDER BY id"
        )
        rows = [
            IncidentRow(
                row[0], row[1], tuple(json.loads(row[2])), *row[3:6],
                *(_seconds(at) for at in row[6:9]),
            )
            for row in found
        ]  # fmt: skip
        return [each for each in rows if each.detected_at >= since]

    def counts(self, since: float) -> dict[str, int]:
        """Return the number of rows of each kind that a person sees since this time."""
        at = datetime.fromtimestamp(since, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        queries = {
            "incidents": "incidents WHERE merged_into IS NULL AND detected_at >= ?",
            "events": "events WHERE created_at >= ?",
            "critical": "events WHERE level = 'critical' AND created_at >= ?",
            "sessions": "sessions WHERE started_at >= ?",
            "notifications": "notices WHERE state = 'sent' AND created_at >= ?",
        }
        return {
            name: int((self.rows(f"SELECT COUNT(*) FROM {query}", at) or [(0,)])[0][0])
            for name, query in queries.items()
        }

    def live_incidents(self) -> int:
        """Return the number of open incidents."""
        return int(
            (self.rows("SELECT COUNT(*) FROM incidents WHERE state <> 'resolved'") or [(1,)])[0][0]
        )

    def is_quiet(self) -> bool:
        """Whether no incident is open, no session runs and every check passed at least once."""
        sessions = self.rows("SELECT COUNT(*) FROM sessions WHERE status = 'running'")
        series = self.rows("SELECT COUNT(*), SUM(state = 'failed') FROM check_series")
        checked = bool(series) and series[0][0] >= 10 and not series[0][1]
        return self.live_incidents() == 0 and sessions == [(0,)] and checked

    def memories(self) -> list[dict[str, Any]]:
        """Return the memories that the home learned."""
        found = self.rows(
            "SELECT id, service, category, observation, confidence, active FROM memories"
            " ORDER BY id"
        )
        names = ("id", "service", "category", "text", "confidence", "active")
        return [dict(zip(names, row, strict=True)) for row in found]


def _seconds(moment: str | None) -> float | None:
    return None if moment is None else datetime.fromisoformat(moment).timestamp()
