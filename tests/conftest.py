"""What all tests share: a real database, a fixed moment, and no settings from outside."""

import os
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lamplighter.domain.redact import Redactor
from lamplighter.repository import Database, migrate
from lamplighter.repository.database import sqlite_url

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
OPEN = Redactor()

for name in [name for name in os.environ if name.startswith(("LAMPLIGHTER_", "CLAUDEOPS_"))]:
    del os.environ[name]


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a database file at the newest revision, to copy from."""
    path = tmp_path_factory.mktemp("migrated") / "lamplighter.db"
    migrate.upgrade(sqlite_url(path))
    return path


@pytest.fixture
def url(migrated: Path, tmp_path: Path) -> str:
    """Return the address of a fresh database."""
    path = tmp_path / "lamplighter.db"
    path.write_bytes(migrated.read_bytes())
    return sqlite_url(path)


@pytest.fixture
async def db(url: str) -> AsyncIterator[Database]:
    """Open a fresh database."""
    async with Database(url) as database:
        yield database
