"""A home directory and its real processes."""

import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

import direct_writes
import nursery
from lamplighter.repository.store import driver
from living import Reader

ENGINE = Path(__file__).parents[1] / "fakes" / "engine.py"
NO_SERVICES = "services: {}\n"


@dataclass
class Home:
    """A home directory and the processes started on it."""

    path: Path
    env: dict[str, str]
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)
    _reader: Reader = field(default_factory=Reader)

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        log = (self.path / "log").open("ab")
        with log:
            process = nursery.start(*words, env=self.env, stdout=log, stderr=log)
        self.started.append(process)
        return process

    def run(self, *words: str, seconds: float = 180) -> subprocess.CompletedProcess[str]:
        return nursery.run(*words, env=self.env, seconds=seconds)

    def engine(self, *words: str) -> None:
        self.env["LAMPLIGHTER_ENGINE"] = "exec"
        self.env["LAMPLIGHTER_EXEC_COMMAND"] = shlex.join([sys.executable, str(ENGINE), *words])

    def way_in(self) -> dict[str, str]:
        """Return the authorization header with this home's token."""
        token = self.path / "token"
        return {"Authorization": f"Bearer {token.read_text().strip()}"} if token.exists() else {}

    def rows(self, query: str, *given: object) -> list[tuple[object, ...]]:
        with suppress(driver.OperationalError):
            return self._reader.rows(self.path / "lamplighter.db", query, given)
        return []

    def value(self, query: str, *given: object) -> object:
        rows = self.rows(query, *given)
        return rows[0][0] if rows else None

    def until(self, what: Callable[[], object], seconds: float = 60) -> object:
        began = time.monotonic()
        with self._reader.kept():
            while (waited := time.monotonic() - began) < seconds:
                if found := what():
                    return found
                time.sleep(min(0.02 + waited / 20, 0.25))  # to look costs more than to wait
        raise AssertionError(f"did not come about; log:\n{(self.path / 'log').read_text()}")

    def outputs(self, session: int, suffix: str = ".jsonl") -> list[Path]:
        """Return a session's files with this suffix; none before the session begins."""
        return list((self.path / "sessions").glob(f"{session}-*{suffix}"))

    def output(self, session: int) -> Path:
        """Return the file with a session's output."""
        [found] = self.outputs(session)
        return found

    def left_over(self) -> list[int]:
        """Processes of this home's engines that still run."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError):
                ours = process.environ().get("LAMPLIGHTER_SESSION") and process.cwd().startswith(
                    str(self.path)
                )
                if ours and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process.pid)
        return found


def rows(home: Home, query: str) -> list[tuple[object, ...]]:
    """Return the rows of a query to a home's PostgreSQL."""
    return direct_writes.run(home.env["LAMPLIGHTER_DATABASE_URL"], query)


def there(home: Home, query: str) -> bool:
    """Whether a query returns rows; False before the tables exist."""
    tables = rows(home, "SELECT 1 FROM pg_tables WHERE tablename = 'alembic_version'")
    return bool(tables and rows(home, query))
