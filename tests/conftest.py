"""Fixtures of all tests: real databases, a fixed time, and no settings from outside."""

import gc
import os
import shutil
import signal
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

import authorities  # noqa: F401 - read once
import run_files
from lamplighter.domain.secrets.redact import Redactor
from lamplighter.repository import Database
from lamplighter.repository.store.database import sqlite_url
from lamplighter.repository.upkeep import migrate
from living import migrated_bytes
from postgres_server import PostgresServer, ReusedDatabase

if TYPE_CHECKING:
    from lamplighter.embedding.minilm import MiniLM

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
OPEN = Redactor()
MIGRATED = "migrated"
WAITING = ("faults", "packaging", "supervisor")
"""Directories with tests of real processes: they wait for half of their time, at most a minute."""

# thousands of tests are objects that stay: to look through them again and again takes long
gc.set_threshold(50_000, 50, 50)

for name in [name for name in os.environ if name.startswith(("LAMPLIGHTER_", "CLAUDEOPS_"))]:
    del os.environ[name]

settings.register_profile("any machine", deadline=None)  # a loaded one takes its time
settings.load_profile("any machine")

# a shell that starts the tests in the background lets them ignore it, and what they start
signal.signal(signal.SIGINT, signal.default_int_handler)


RUN_DIRECTORY = run_files.make()


def pytest_unconfigure() -> None:
    """Remove the sockets of all homes."""
    shutil.rmtree(RUN_DIRECTORY, ignore_errors=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let three of five processes of a run begin with the waiting tests.

    Each process gets equally many tests in a row. A test of a minute that started last would delay
    the whole run, and if all of them wait at the same time, the cores are idle: therefore the
    other processes begin with the tests that compute.
    """
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    waiting: dict[Path, list[pytest.Item]] = {}
    others: list[pytest.Item] = []
    for item in items:
        there = item.path.parent.name in WAITING
        (waiting.setdefault(item.path, []) if there else others).append(item)
    files, ordered = list(waiting.values()), list[pytest.Item]()
    early = max(1, workers * 3 // 5)
    for worker in range(workers):
        given = (len(items) - len(ordered)) // (workers - worker)
        mine = files[worker::early] if worker < early else []
        share = [item for file in mine for item in file]
        more = max(0, given - len(share))
        ordered += [*share, *others[:more]]
        del others[:more]
    assert len(ordered) == len(items)
    items[:] = ordered


def pytest_collection_finish() -> None:
    """Exclude the collected tests from garbage collection."""
    gc.freeze()


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a database file at the newest revision, as a template."""
    path = tmp_path_factory.mktemp("migrated") / "lamplighter.db"
    path.write_bytes(migrated_bytes())
    return path


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """Start a PostgreSQL server with a database at the newest revision, as a template."""
    server = PostgresServer()
    try:
        migrate.upgrade(server.create(MIGRATED))
        yield server
    finally:
        server.remove()


@pytest.fixture(scope="session")
def reused(postgres: PostgresServer) -> Iterator[ReusedDatabase]:
    """Return the PostgreSQL database that the tests of this process use one after another."""
    database = ReusedDatabase(postgres, MIGRATED)
    yield database
    database.close()


@pytest.fixture
def postgres_url(reused: ReusedDatabase) -> str:
    """Return the address of a fresh PostgreSQL database."""
    return reused.fresh()


@pytest.fixture
def sqlite(migrated: Path, tmp_path: Path) -> str:
    """Return the address of a fresh SQLite database."""
    path = tmp_path / "lamplighter.db"
    path.write_bytes(migrated.read_bytes())
    return sqlite_url(path)


@pytest.fixture(params=["sqlite", "postgres_url"], ids=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    """Return the address of a fresh database, of either kind."""
    return str(request.getfixturevalue(request.param))


@pytest.fixture
async def db(url: str) -> AsyncIterator[Database]:
    """Open a fresh database."""
    async with Database(url) as database:
        yield database


@pytest.fixture(scope="session")
def model() -> "Iterator[MiniLM]":
    """Load the local language model, once per process."""
    from lamplighter.embedding.minilm import MiniLM

    loaded = MiniLM()
    yield loaded
    loaded.close()
