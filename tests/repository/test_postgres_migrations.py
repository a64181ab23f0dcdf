"""Migrations on PostgreSQL: once, by one process, completely or not at all, the same tables."""

import asyncio
import itertools
import random
from collections.abc import Iterator

import asyncpg
import pytest
import sqlalchemy as sa

import direct_writes
from lamplighter.domain.errors import Unavailable
from lamplighter.repository.store.tables import complete_metadata
from lamplighter.repository.upkeep import migrate
from migration_kills import COLUMNS, kill_migrations
from postgres_server import PostgresServer

UPGRADE = """
import sys
from lamplighter.repository.upkeep import migrate
print(migrate.upgrade(sys.argv[1]))
"""
WITHOUT_INDEX = """
SELECT conrelid::regclass::text, attname FROM pg_constraint
JOIN pg_attribute ON attrelid = conrelid AND attnum = conkey[1]
WHERE contype = 'f'
AND NOT EXISTS (SELECT 1 FROM pg_index WHERE indrelid = conrelid AND indkey[0] = conkey[1])
"""
NAMES = itertools.count(1)
STEP = 36


@pytest.fixture
def empty(postgres: PostgresServer) -> Iterator[str]:
    """Return the address of a database without tables."""
    name = f"empty{next(NAMES)}"
    yield postgres.create(name)
    postgres.drop(name)


def test_second_upgrade_changes_nothing(empty: str) -> None:
    assert migrate.revision_of(empty) is None
    assert migrate.upgrade(empty) is True
    assert migrate.upgrade(empty) is False
    assert migrate.revision_of(empty) == migrate.newest_revision()


def test_upgrade_queues_existing_rows_for_indexing(empty: str) -> None:
    migrate.upgrade(empty, target="0025")

    assert direct_writes.noted(empty) == [(41,), (42,)]


def test_one_of_four_concurrent_processes_migrates(empty: str, spawn) -> None:  # type: ignore[no-untyped-def]
    started = [spawn(UPGRADE, empty) for _ in range(4)]
    ended = [process.communicate(timeout=60) for process in started]

    assert sorted(out.strip() for out, _ in ended) == ["False", "False", "False", "True"]
    assert [errors for _, errors in ended] == [""] * 4
    assert direct_writes.run(empty, "SELECT version_num FROM alembic_version") == [
        (migrate.newest_revision(),)
    ]


def test_migration_killed_at_any_statement_changes_nothing_and_can_be_repeated(
    empty: str, postgres_url: str
) -> None:
    start = random.randrange(STEP)  # every statement is met in some run; all of them in soak

    kills = kill_migrations(empty, postgres_url, start=start, step=STEP)

    assert kills > 50 / STEP, f"only {kills} statements were interrupted"


def test_tables_in_code_match_the_tables_in_the_database(postgres_url: str) -> None:
    held: dict[str, list[tuple[str, str, bool]]] = {}
    for table, column, kind, nullable, _, _ in direct_writes.run(postgres_url, COLUMNS):
        held.setdefault(table, []).append((column, kind, nullable == "YES"))
    kinds = {sa.Float: "double precision", sa.Integer: "bigint", sa.String: "text"}
    kinds[sa.LargeBinary] = "bytea"

    def kind_of(column: sa.Column[object]) -> str:
        plain = getattr(column.type, "impl", column.type)
        return next(name for kind, name in kinds.items() if isinstance(plain, kind))

    del held["alembic_version"]
    # of the search, and only here
    held["terms"] = [each for each in held["terms"] if each[1] != "tsvector"]
    assert held == {
        name: sorted((each.name, kind_of(each), bool(each.nullable)) for each in table.columns)
        for name, table in complete_metadata().tables.items()
    }


def test_each_foreign_key_has_an_index(postgres_url: str) -> None:
    assert direct_writes.run(postgres_url, WITHOUT_INDEX) == []


def test_text_columns_are_compared_by_code_point(postgres_url: str) -> None:
    texts = [row for row in direct_writes.run(postgres_url, COLUMNS) if row[2] == "text"]

    assert {row[5] for row in texts} == {"C"}


def test_database_of_a_newer_version_is_refused_and_unchanged(postgres_url: str) -> None:
    direct_writes.run(postgres_url, "UPDATE alembic_version SET version_num = '9999'")

    with pytest.raises(Unavailable, match=r"newer Lamplighter.*9999.*Nothing was changed"):
        migrate.upgrade(postgres_url)

    assert migrate.revision_of(postgres_url) == "9999"


def test_missing_server_is_refused_with_an_explanation(tmp_path_factory) -> None:  # type: ignore[no-untyped-def]
    nowhere = f"postgresql://lamp:secret@/lamp?host={tmp_path_factory.getbasetemp()}"

    with pytest.raises(
        Unavailable, match=r"lamp at /.* cannot be used: .*LAMPLIGHTER_DATABASE_URL"
    ):
        migrate.upgrade(nowhere)


def test_upgrade_waits_for_a_starting_server() -> None:
    server = PostgresServer()
    try:
        url = server.create("later")
        server.stop()

        async def both() -> bool:
            upgrading = asyncio.to_thread(migrate.upgrade, url, patience=30)
            return (await asyncio.gather(upgrading, asyncio.to_thread(server.start)))[0]

        assert asyncio.run(both()) is True
    finally:
        server.remove()


def test_check_constraint_violation_is_raised_by_its_name(postgres_url: str) -> None:
    with pytest.raises(asyncpg.CheckViolationError):
        direct_writes.run(
            postgres_url,
            "INSERT INTO events (level, text, created_at) VALUES ('loud', 'x', 'x')",
        )
