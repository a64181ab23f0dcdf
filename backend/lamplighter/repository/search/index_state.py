"""The state of the search index, and the repair of a damaged index."""

import asyncio
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from lamplighter.repository.store import driver
from lamplighter.repository.store.database import file_of, is_postgres
from lamplighter.repository.store.index_schema import (
    DROP_SQLITE,
    METADATA_POSTGRES,
    METADATA_SQLITE,
    NOTE_ALL,
    POSTGRES_TRIGGERS,
    RECOUNT,
    SQLITE,
    TRIGGERS,
    is_of_index,
)
from lamplighter.repository.store.tables import INDEX

_TABLE: Final = "SELECT name FROM sqlite_master WHERE name = 'unindexed'"
_TRIGGERS: Final = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
_TRIGGERS_POSTGRES: Final = "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal"


def check_file(connection: driver.Connection) -> str:
    """Return the problem of the index of a SQLite file; empty if it is sound or does not exist."""
    if not connection.execute(_TABLE).fetchall():
        return ""
    held = [row[0] for row in connection.execute(_TRIGGERS).fetchall()]
    found = [str(row[0]) for row in connection.execute("PRAGMA quick_check(100)").fetchall()]
    return _describe_damage(held, [each for each in found if is_of_index(each)])


async def check_server(connection: Any) -> str:
    """Return the problem of the index in a PostgreSQL database; empty if the index is sound."""
    if not await connection.fetchval("SELECT to_regclass('unindexed') IS NOT NULL"):
        return ""
    held = [row["tgname"] for row in await connection.fetch(_TRIGGERS_POSTGRES)]
    return _describe_damage(held, [])


def repair(url: str) -> str:
    """Rebuild a damaged index; return the problem, empty if there was none.

    All rows are marked as unindexed, and the search and the web process index them again.
    """
    if is_postgres(url):
        return asyncio.run(_repair_server(url))
    return _repair_file(file_of(url))


def _repair_file(path: Path) -> str:
    with closing(driver.connect(str(path))) as connection:
        wrong = check_file(connection)
        if wrong:
            connection.execute("BEGIN IMMEDIATE")
            for statement in (*DROP_SQLITE, *SQLITE, METADATA_SQLITE, *NOTE_ALL):
                connection.execute(statement)
            connection.execute(f"INSERT INTO {INDEX} ({INDEX}) VALUES ('rebuild')")  # noqa: S608 - ours
            connection.execute(RECOUNT)
            connection.execute("COMMIT")
        return wrong


async def _repair_server(url: str) -> str:
    from lamplighter.repository.store.postgres import connected

    async with connected(url) as connection:
        wrong = await check_server(connection)
        if wrong:
            async with connection.transaction():
                for statement in (*POSTGRES_TRIGGERS, METADATA_POSTGRES, *NOTE_ALL, RECOUNT):
                    await connection.execute(statement)
        return wrong


def _describe_damage(stored: Iterable[str], damages: list[str]) -> str:
    missing = sorted(set(TRIGGERS) - set(stored))
    if damages:
        return damages[0]
    return f"its triggers are missing: {', '.join(missing)}" if missing else ""
