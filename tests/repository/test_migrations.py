"""Migrations: once, by one process, completely or not at all, exactly as specified."""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import sqlalchemy as sa

import direct_writes
from lamplighter.domain.errors import Unavailable
from lamplighter.domain.memory.memory import Category, Memory, MemoryId, MemoryKind, Source, Trust
from lamplighter.repository import Database
from lamplighter.repository.memory import memories
from lamplighter.repository.store import driver
from lamplighter.repository.store.database import sqlite_url
from lamplighter.repository.store.tables import complete_metadata
from lamplighter.repository.upkeep import migrate

UPGRADE = """
import sys
from lamplighter.repository.upkeep import migrate
print(migrate.upgrade(sys.argv[1]))
"""
STOPPED = """
import sys, time
from lamplighter.repository.store import driver
from lamplighter.repository.upkeep import migrate

connect = driver.connect

def watched(*args, **kwargs):
    connection = connect(*args, **kwargs)
    def stop(statement):
        if sys.argv[2] in statement:
            print("here", flush=True)
            time.sleep(120)
    connection.set_trace_callback(stop)
    return connection

driver.connect = watched
migrate.upgrade(sys.argv[1])
"""
TEN = (
    "INSERT INTO memories (id, service, category, observation, confidence, active,"
    " created_at, updated_at, session_id, tier) VALUES (41, 'jellyfin', 'timing',"
    " 'Takes 60s to start', 0.9, 1, '2026-01-01T12:00:00.000000Z',"
    " '2026-01-01T12:00:00.000000Z', NULL, 2)"
)
HAND = Memory(
    id=MemoryId(41),
    category=Category.TIMING,
    service="jellyfin",
    observation="Takes 60s to start",
    confidence=0.9,
    active=True,
    tier=2,
    session_id=None,
    created_at=datetime(2026, 1, 1, 12, tzinfo=UTC),
    updated_at=datetime(2026, 1, 1, 12, tzinfo=UTC),
    kind=MemoryKind.SEMANTIC,
    trust=Trust.OBSERVED,
    source=Source.MARKER,
)


def ask(path: Path, query: str) -> list[Any]:
    with closing(driver.connect(str(path))) as connection:
        return [tuple(row) for row in connection.execute(query)]


def schema(path: Path) -> list[Any]:
    return ask(path, "SELECT type, name, sql FROM sqlite_master ORDER BY type, name")


def at_0005(path: Path) -> Path:
    migrate.upgrade(sqlite_url(path), target="0005")
    return path


def test_second_upgrade_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.db"

    assert migrate.upgrade(sqlite_url(path)) is True
    before = path.read_bytes()
    assert migrate.upgrade(sqlite_url(path)) is False

    assert path.read_bytes() == before
    assert migrate.revision(path) == migrate.newest_revision()


def test_missing_database_has_no_revision(tmp_path: Path) -> None:
    assert migrate.revision(tmp_path / "x.db") is None
    assert not (tmp_path / "x.db").exists()


def test_upgrade_creates_a_missing_directory_as_private(tmp_path: Path) -> None:
    path = tmp_path / "new" / "x.db"

    migrate.upgrade(sqlite_url(path))

    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_one_of_four_concurrent_processes_migrates(tmp_path: Path, spawn) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "x.db"

    started = [spawn(UPGRADE, sqlite_url(path)) for _ in range(4)]
    ended = [process.communicate(timeout=60) for process in started]

    assert sorted(out.strip() for out, _ in ended) == ["False", "False", "False", "True"]
    assert [errors for _, errors in ended] == [""] * 4
    assert migrate.revision(path) == migrate.newest_revision()
    assert len(ask(path, "SELECT * FROM alembic_version")) == 1


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE sessions",
        "CREATE TABLE memories",
        "ADD COLUMN trust",
        "CREATE INDEX idx_checks_at",
        "COMMIT",
    ],
)
def test_killed_migration_is_completed_by_the_next_upgrade(
    tmp_path: Path,
    migrated: Path,
    spawn,  # type: ignore[no-untyped-def]
    statement: str,
) -> None:
    path = tmp_path / "x.db"
    process = spawn(STOPPED, sqlite_url(path), statement)
    assert process.stdout.readline() == "here\n"

    process.kill()
    process.wait(timeout=30)

    assert migrate.revision(path) is None
    assert migrate.upgrade(sqlite_url(path)) is True
    assert schema(path) == schema(migrated)
    assert ask(path, "PRAGMA integrity_check") == [("ok",)]


def test_killed_migration_leaves_an_old_database_unchanged(tmp_path: Path, spawn) -> None:  # type: ignore[no-untyped-def]
    path = at_0005(tmp_path / "x.db")
    before = schema(path)
    process = spawn(STOPPED, sqlite_url(path), "CREATE TABLE history")
    assert process.stdout.readline() == "here\n"

    process.kill()
    process.wait(timeout=30)

    assert migrate.revision(path) == "0005"
    assert schema(path) == before


def test_memories_table_matches_the_specification(tmp_path: Path) -> None:
    path = at_0005(tmp_path / "x.db")

    columns = ask(
        path, 'SELECT name, type, "notnull", dflt_value, pk FROM pragma_table_info("memories")'
    )
    assert columns == [
        ("id", "INTEGER", 1, None, 1),
        ("service", "TEXT", 0, None, 0),
        ("category", "TEXT", 1, None, 0),
        ("observation", "TEXT", 1, None, 0),
        ("confidence", "REAL", 1, "0.7", 0),
        ("active", "INTEGER", 1, "1", 0),
        ("created_at", "TEXT", 1, None, 0),
        ("updated_at", "TEXT", 1, None, 0),
        ("session_id", "INTEGER", 0, None, 0),
        ("tier", "INTEGER", 1, "1", 0),
    ]
    (sql,) = ask(path, "SELECT sql FROM sqlite_master WHERE name = 'memories'")[0]
    assert "PRIMARY KEY AUTOINCREMENT" in sql
    assert ask(path, 'SELECT "table", "from", "to" FROM pragma_foreign_key_list("memories")') == [
        ("sessions", "session_id", "id")
    ]


@pytest.mark.parametrize("target", ["0005", None])
def test_memories_table_has_the_three_indexes_of_the_specification(
    tmp_path: Path, target: str | None
) -> None:
    path = tmp_path / "x.db"
    migrate.upgrade(sqlite_url(path), target=target)

    names = ("idx_memories_service", "idx_memories_confidence", "idx_memories_category")
    found = {
        name: [row[0] for row in ask(path, f"SELECT name FROM pragma_index_info('{name}')")]
        for name in names
    }
    assert found == {
        "idx_memories_service": ["service", "active"],
        "idx_memories_confidence": ["confidence", "active"],
        "idx_memories_category": ["category"],
    }
    owned = ask(path, "SELECT name FROM pragma_index_list('memories') WHERE name LIKE 'idx%'")
    assert {name for (name,) in owned} >= set(names)


def test_id_of_a_deleted_memory_is_never_reused(tmp_path: Path) -> None:
    path = at_0005(tmp_path / "x.db")
    with closing(driver.connect(str(path))) as connection:
        connection.execute(TEN)
        connection.execute("DELETE FROM memories")
        connection.execute(
            "INSERT INTO memories (category, observation, created_at, updated_at)"
            " VALUES ('timing', 'x', '2026-01-01T12:00:00Z', '2026-01-01T12:00:00Z')"
        )

    assert ask(path, "SELECT id, confidence, active, tier FROM memories") == [(42, 0.7, 1, 1)]


async def test_row_with_ten_columns_from_before_the_upgrade_is_readable(tmp_path: Path) -> None:
    path = at_0005(tmp_path / "x.db")
    with closing(driver.connect(str(path))) as connection:
        connection.execute(TEN)

    migrate.upgrade(sqlite_url(path))

    async with Database(sqlite_url(path)) as db:
        assert await memories.get(db, 41) == HAND


async def test_row_with_ten_columns_at_the_newest_revision_is_readable(
    url: str,
) -> None:
    direct_writes.run(url, TEN)

    async with Database(url) as db:
        assert await memories.get(db, 41) == HAND
        page = await memories.page(
            db, memories.MemoryFilter(), sort=memories.Sort.CONFIDENCE, limit=10
        )
    assert page.items == [HAND]


def test_upgrade_queues_existing_rows_for_indexing(tmp_path: Path) -> None:
    address = sqlite_url(tmp_path / "x.db")
    migrate.upgrade(address, target="0025")

    assert direct_writes.noted(address) == [(41,), (42,)]


@pytest.mark.parametrize(
    ("column", "value"), [("kind", "permanent"), ("trust", "sworn"), ("scope", "world")]
)
def test_check_constraints_reject_invalid_memory_values(url: str, column: str, value: str) -> None:
    direct_writes.run(url, TEN)
    with pytest.raises((driver.IntegrityError, asyncpg.CheckViolationError)):
        direct_writes.run(url, f"UPDATE memories SET {column} = '{value}'")


def kind_of_column(kind: sa.types.TypeEngine[Any]) -> str:
    """Return the name of SQLite's type for a column of a type."""
    return {"FLOAT": "REAL", "DOUBLE": "REAL", "DOUBLE PRECISION": "REAL"}.get(
        found := str(kind.compile(sa.create_engine("sqlite://").dialect)), found
    )


def test_tables_in_code_match_the_tables_in_the_database(migrated: Path) -> None:
    engine = sa.create_engine(
        "sqlite://", creator=lambda: driver.connect(str(migrated)), poolclass=sa.NullPool
    )
    found = sa.inspect(engine)

    ours = {name for name in found.get_table_names() if not name.startswith(("terms_",))}
    assert ours - {"alembic_version"} == set(complete_metadata().tables)
    for name, table in complete_metadata().tables.items():
        # by name: where a column stands in a row means nothing
        assert sorted(
            (column.name, kind_of_column(column.type), column.nullable) for column in table.columns
        ) == sorted(
            (column["name"], kind_of_column(column["type"]), column["nullable"])
            for column in found.get_columns(name)
        ), name
        key = [column.name for column in table.primary_key]
        assert key == found.get_pk_constraint(name)["constrained_columns"], name
        for index in table.indexes:
            made = ask(migrated, f"SELECT name FROM pragma_index_info('{index.name}')")
            assert made == [(column.name,) for column in index.columns], index.name


def test_every_later_memories_column_has_a_default(migrated: Path) -> None:
    without = ask(
        migrated,
        "SELECT name FROM pragma_table_info('memories')"
        ' WHERE "notnull" AND dflt_value IS NULL AND NOT pk',
    )
    assert [name for (name,) in without] == ["category", "observation", "created_at", "updated_at"]


def test_database_of_a_newer_version_is_refused_and_unchanged(
    tmp_path: Path, migrated: Path
) -> None:
    path = tmp_path / "x.db"
    path.write_bytes(migrated.read_bytes())
    with closing(driver.connect(str(path))) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    before = path.read_bytes()

    with pytest.raises(Unavailable, match=r"newer Lamplighter.*9999.*Nothing was changed"):
        migrate.upgrade(sqlite_url(path))

    assert path.read_bytes() == before


def test_file_that_is_no_database_is_refused_and_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    path.write_text("this is a shopping list\n" * 100)

    with pytest.raises(Unavailable, match=r"x\.db is damaged or not a database"):
        migrate.upgrade(sqlite_url(path))

    assert path.read_text() == "this is a shopping list\n" * 100


def test_directory_in_place_of_the_database_is_refused_with_an_explanation(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="cannot be used"):
        migrate.upgrade(sqlite_url(tmp_path))


def test_file_in_place_of_the_directory_is_refused_with_an_explanation(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("")

    with pytest.raises(Unavailable, match=r"cannot be used: .*LAMPLIGHTER_HOME"):
        migrate.upgrade(sqlite_url(tmp_path / "home" / "x.db"))


REFUSED = """
import os, sys
from alembic import command
from lamplighter.domain.errors import Unavailable
from lamplighter.repository.upkeep import migrate
from lamplighter.repository.store.database import sqlite_url
from pathlib import Path
if os.getuid() == 0:
    os.setgid(65534); os.setuid(65534)  # the superuser may write everywhere
try:
    migrate.upgrade(sqlite_url(Path(sys.argv[1]) / "x.db"))
except Unavailable as error:
    print(error)
"""


def test_read_only_directory_is_refused_with_an_explanation() -> None:
    home = (
        Path(tempfile.gettempdir()) / f"lamplighter-read-only-{os.getpid()}-{time.monotonic_ns()}"
    )
    home.mkdir(mode=0o555)
    try:
        ended = subprocess.run(
            [sys.executable, "-c", REFUSED, str(home)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    finally:
        home.rmdir()

    assert (ended.returncode, ended.stderr) == (0, "")
    assert f"The database {home}/x.db cannot be used: " in ended.stdout
    assert "Set LAMPLIGHTER_HOME to another directory" in ended.stdout


async def test_migration_waits_for_a_writer(
    tmp_path: Path,
    spawn,  # type: ignore[no-untyped-def]
) -> None:
    path = at_0005(tmp_path / "x.db")
    with closing(driver.connect(str(path))) as connection:
        connection.execute("BEGIN IMMEDIATE")
        other = spawn(UPGRADE, sqlite_url(path))
        await asyncio.sleep(0.7)
        assert other.poll() is None
        connection.execute("ROLLBACK")

    out, errors = await asyncio.to_thread(other.communicate, timeout=60)

    assert (out, errors) == ("True\n", "")
