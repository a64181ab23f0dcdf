"""Real processes for tests: a separate home, its web server, its sessions."""

import itertools
import json
import os
import shlex
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx2

import nursery
from lamplighter.repository.store import driver
from lamplighter.repository.store.database import sqlite_url
from lamplighter.repository.upkeep import migrate

ENGINE = Path(__file__).parent / "fakes" / "scripted.py"
STARTING_SECONDS = 30.0
PORTS, PORTS_EACH = range(12_000, 32_000), 625
WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])
_PORTS = itertools.count((os.getppid() * 8 + WORKER) * PORTS_EACH)
KEPT = ("PATH", "HOME", "LANG", "VIRTUAL_ENV", "XDG_RUNTIME_DIR")


def lately(hours: int = 1) -> str:
    """Return a time some hours ago in the format of a row: too recent for decay."""
    return f"{datetime.now(UTC) - timedelta(hours=hours):%Y-%m-%dT%H:%M:%S.%fZ}"


def give_database(home: Path) -> None:
    """Write a migrated database into a home: each migration would cost a test half a second."""
    path = home / "lamplighter.db"
    path.touch(0o600)
    path.write_bytes(migrated_bytes())


@cache
def migrated_bytes() -> bytes:
    """Return a database file at the newest revision."""
    with TemporaryDirectory() as there:
        path = Path(there) / "lamplighter.db"
        migrate.upgrade(sqlite_url(path))
        return path.read_bytes()


class Reader(threading.local):
    """Queries of a database file, within `kept` through a single connection.

    Opening a connection and reading the schema costs fifty times as much as a query.
    """

    keeping = 0
    connection: driver.Connection | None = None
    file: object = None

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep the connection open until the outermost of these contexts ends."""
        self.keeping += 1
        try:
            yield
        finally:
            self.keeping -= 1
            if not self.keeping:
                self._close()

    def rows(self, path: Path, query: str, given: Sequence[object]) -> list[tuple[Any, ...]]:
        """Return the rows of a query on the file that currently has this path."""
        if self.connection is None or self.file != _identity(path):
            self._close()
            self.file, self.connection = _identity(path), driver.connect(str(path))
        try:
            rows = [tuple(row) for row in self.connection.execute(query, given).fetchall()]
        except driver.Error:
            self._close()
            raise
        if not self.keeping:
            self._close()
        return rows

    def _close(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None


def _identity(path: Path) -> object:
    with suppress(FileNotFoundError):
        found = path.stat()
        return found.st_dev, found.st_ino
    return None


@dataclass
class Home:
    """A home directory; each `run` is a real `lamplighter run` with a test command as engine."""

    path: Path
    more: dict[str, str] = field(default_factory=dict)
    port: int = field(default_factory=lambda: free_port())  # the usual one may be in use here
    reader: Reader = field(default_factory=Reader)

    def __post_init__(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        if not self.services.exists():
            self.services.write_text("services: {}\n")
        missing = not (self.path / "lamplighter.db").exists()
        if missing and "LAMPLIGHTER_DATABASE_URL" not in self.more:
            give_database(self.path)

    @property
    def services(self) -> Path:
        return self.path / "services.yaml"

    @property
    def way_in(self) -> dict[str, str]:
        """The authorization header with this home's token."""
        return {"Authorization": f"Bearer {(self.path / 'token').read_text().strip()}"}

    def code(self) -> str:
        """Return a new one-time code."""
        done = self.ask("login")
        assert done.returncode == 0, done.stderr
        return done.stdout.strip().partition("?code=")[2]

    def ask(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command in this home to its end."""
        return nursery.run(*words, env=self.env, seconds=60)

    @property
    def env(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        own = {
            "LAMPLIGHTER_HOME": str(self.path),
            "LAMPLIGHTER_PORT": str(self.port),
            "LAMPLIGHTER_VECTORS": "off",
            "LAMPLIGHTER_CHECK_INTERVAL": "0",  # tests count sessions; those of checks turn it on
        }
        return {**kept, **own, **self.more}

    def run(
        self, *lines: dict[str, Any], tier: int = 1, command: str = "", words: tuple[str, ...] = ()
    ) -> "Ran":
        """Run a session whose engine prints these lines of stream-json, or is `command`."""
        script = self.path / "script.jsonl"
        script.write_text("".join(json.dumps(line) + "\n" for line in lines))
        env = {
            "LAMPLIGHTER_EXEC_COMMAND": command
            or shlex.join([sys.executable, str(ENGINE), str(script)]),
            "LAMPLIGHTER_ENGINE": "exec",
        }
        words = ("run", "--json", "--tier", str(tier), *words)
        done = nursery.run(*words, env=self.env | env, seconds=60)
        assert done.stdout, done.stderr
        heard = script.with_suffix(".heard")
        told = json.loads(heard.read_text()) if heard.exists() else {}
        return Ran(json.loads(done.stdout), told, done.stderr, done.returncode)

    def says(self, *words: str, tier: int = 1) -> "Ran":
        """Run a session whose assistant outputs these texts and then finishes."""
        return self.run(*map(text, words), result(), tier=tier)

    def rows(self, query: str, *given: object) -> list[tuple[Any, ...]]:
        return self.reader.rows(self.path / "lamplighter.db", query, given)

    def value(self, query: str, *given: object) -> Any:
        return self.rows(query, *given)[0][0]

    def write(self, statement: str, *given: object) -> None:
        self.reader.rows(self.path / "lamplighter.db", statement, given)


@dataclass(frozen=True)
class Ran:
    """A session that has ended: its row, the input of its engine, and its log."""

    session: dict[str, Any]
    told: dict[str, Any]
    log: str
    exit_code: int

    @property
    def id(self) -> int:
        return int(self.session["id"])


def text(words: str) -> dict[str, Any]:
    """Return an assistant's text as a message of the stream."""
    return {"type": "assistant", "message": {"content": [{"type": "text", "text": words}]}}


def result(**more: Any) -> dict[str, Any]:
    """Return the last line of an engine's output."""
    done = {"subtype": "success", "is_error": False, "num_turns": 1, "result": "Report"}
    return {"type": "result", **done, **more}


@dataclass
class Server:
    """A real `lamplighter web` process on its own port, with `kill` and `start`."""

    home: Home
    port: int = 0
    _process: subprocess.Popen[bytes] | None = None

    def __post_init__(self) -> None:
        self.port = self.port or free_port()
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def headers(self) -> dict[str, str]:
        return self.home.way_in

    @property
    def log(self) -> str:
        return (self.home.path / "web.log").read_text()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        with (self.home.path / "web.log").open("ab") as log:
            env = self.home.env | {"LAMPLIGHTER_PORT": str(self.port)}
            self._process = nursery.start("web", env=env, stdout=log, stderr=log)
        self._until_ready()

    def kill(self) -> None:
        """Kill the process (SIGKILL)."""
        assert self._process is not None
        with suppress(ProcessLookupError):
            self._process.kill()
        self._process.wait(10)

    def _until_ready(self) -> None:
        deadline = time.monotonic() + STARTING_SECONDS
        while time.monotonic() < deadline:
            with suppress(httpx2.HTTPError):
                if httpx2.get(f"{self.url}/readyz", timeout=5).status_code == 200:
                    return
            time.sleep(0.05)
        raise AssertionError(f"the server did not start:\n{self.log}")


def free_port() -> int:
    """Return a port of loopback that is free, and stays free until this test binds it.

    The port is below the range from which the kernel serves connections and `bind` to port 0, and
    each process of a test run has its own ports: no other process can take it meanwhile.
    """
    while True:
        port = PORTS.start + next(_PORTS) % len(PORTS)
        with suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port
