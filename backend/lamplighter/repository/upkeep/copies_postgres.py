"""Copies of a PostgreSQL database: one file per table, in COPY format."""

import asyncio
import graphlib
import json
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import asyncpg
from sqlalchemy.ext.asyncio import AsyncConnection

from lamplighter.domain.errors import Unavailable
from lamplighter.repository.store.database import display_address
from lamplighter.repository.store.postgres import connected
from lamplighter.repository.store.tables import complete_metadata
from lamplighter.repository.upkeep.copies import CopyContents, DamagedCopy
from lamplighter.repository.upkeep.migrate import newest_revision, steps_to
from lamplighter.repository.upkeep.migrate_postgres import migration

UNTIMED: Final = {
    "statement_timeout": "0",
    "lock_timeout": "10s",
    "idle_in_transaction_session_timeout": "0",
}
_TABLES: Final = (
    "SELECT c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
    " WHERE n.nspname = current_schema() AND c.relkind = 'r' AND c.relname <> 'alembic_version'"
    " ORDER BY c.relname"
)
_REFERENCES: Final = (
    "SELECT t.relname AS name, r.relname AS needs FROM pg_constraint k"
    " JOIN pg_class t ON t.oid = k.conrelid JOIN pg_class r ON r.oid = k.confrelid"
    " JOIN pg_namespace n ON n.oid = t.relnamespace"
    " WHERE k.contype = 'f' AND n.nspname = current_schema() AND t.oid <> r.oid"
)
_COLUMNS: Final = (
    "SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema()"
    " AND table_name = $1 AND is_generated = 'NEVER' ORDER BY ordinal_position"
)
_KEY: Final = (
    "SELECT a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid"
    " AND a.attnum = ANY (i.indkey) WHERE i.indrelid = to_regclass($1) AND i.indisprimary"
)
_SEQUENCES: Final = (
    "SELECT table_name AS name, column_name AS place FROM information_schema.columns"
    " WHERE table_schema = current_schema() AND (is_identity = 'YES' OR column_default LIKE"
    " 'nextval(%')"
)
_REVISION: Final = "SELECT version_num FROM alembic_version"
_LAST: Final = "SELECT coalesce(max(id), 0) FROM sessions"
_OTHERS: Final = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
    " AND application_name LIKE 'lamplighter%' AND pid <> pg_backend_pid()"
)
LEAVING_SECONDS: Final = 5.0
LOST_SECONDS: Final = 1.0
_NOTE: Final = "SELECT obj_description(to_regclass('alembic_version'))"
_TRIAL: Final = "lamplighter_trial"
DAY_SECONDS: Final = 86_400.0
LIST: Final = "tables.json"
IN_USE: Final = (
    "The database {} is in use: stop Lamplighter in every home that uses it, then try again."
)


class PostgresCopier:
    """Copies a PostgreSQL database by COPY, within one read-only transaction."""

    kind = "postgresql"

    def __init__(self, url: str) -> None:
        self._url = url

    def copy(self, directory: Path) -> CopyContents:
        """Copy the database into a directory."""

        async def copy() -> CopyContents:
            async with (
                connected(self._url, **UNTIMED) as connection,
                connection.transaction(isolation="repeatable_read", readonly=True),
            ):
                return await _dump(connection, directory)

        return asyncio.run(copy())

    def prove(self, directory: Path, copied: CopyContents) -> None:
        """Restore a copy temporarily and compare it with the copied content; raises DamagedCopy.

        The copy is loaded into a separate schema, within a transaction that is rolled back.
        """
        asyncio.run(self._prove(directory, copied))

    async def _prove(self, directory: Path, copied: CopyContents) -> None:
        with tempfile.TemporaryDirectory(dir=directory.parent) as scratch:
            async with _transaction(self._url, undo=True) as (connection, raw):
                await raw.execute(f"CREATE SCHEMA {_TRIAL}; SET LOCAL search_path TO {_TRIAL}")
                await connection.run_sync(steps_to(copied.revision))
                await _load(raw, directory)
                again = await _dump(raw, Path(scratch))
                await connection.run_sync(steps_to(newest_revision()))
            if again != copied or _hashes(Path(scratch)) != _hashes(directory):
                raise DamagedCopy("the restored database does not contain the copied rows")

    def last_session(self) -> int:
        """Return the highest session ID of the database; 0 if it has no tables yet."""
        there = asyncio.run(_fetch_value(self._url, "SELECT to_regclass('sessions')"))
        return int(asyncio.run(_fetch_value(self._url, _LAST))) if there else 0


def used_by_others(url: str) -> int:
    """Return the number of connections of Lamplighter to the database."""

    async def count() -> int:
        async with connected(url) as connection:
            return await _count_others(connection)

    return asyncio.run(count())


def note_of(url: str) -> str:
    """Return the note that the last restore left in the database."""
    return str(asyncio.run(_fetch_value(url, _NOTE)) or "")


async def _count_others(connection: asyncpg.Connection) -> int:
    """Return the number of other Lamplighter connections that remain after a short wait.

    The server still counts the connections of a command that just ended, or was killed.
    """
    deadline = time.monotonic() + LEAVING_SECONDS
    while (others := int(await connection.fetchval(_OTHERS))) and time.monotonic() < deadline:
        await asyncio.sleep(0.1)
        await connection.execute("SELECT pg_stat_clear_snapshot()")  # cached per transaction
    return others


async def _fetch_value(url: str, query: str) -> Any:
    async with connected(url) as connection:
        return await connection.fetchval(query)


def replace(url: str, directory: Path, revision: str, note: str) -> None:
    """Replace the content of a database with a copy, at the newest revision: all or nothing.

    Raises Unavailable if another process uses the database.
    """
    asyncio.run(_replace(url, directory, revision, note))


async def _replace(url: str, directory: Path, revision: str, note: str) -> None:
    listed = json.loads((directory / LIST).read_text())
    names = sorted({*listed, *complete_metadata().tables, "alembic_version"})
    async with _transaction(url) as (connection, raw):
        if await _count_others(raw):
            raise Unavailable(IN_USE.format(display_address(url)))
        await raw.execute(f"DROP TABLE IF EXISTS {_quoted(names)} CASCADE")
        await connection.run_sync(steps_to(revision))
        await _load(raw, directory)
        await connection.run_sync(steps_to(newest_revision()))
        await raw.execute(f"COMMENT ON TABLE alembic_version IS '{note}'")


@asynccontextmanager
async def _transaction(
    url: str, *, undo: bool = False
) -> AsyncIterator[tuple[AsyncConnection, asyncpg.Connection]]:
    """Begin one transaction, for both migrations and COPY."""
    async with migration(url, undo=undo, **UNTIMED) as connection:
        yield connection, (await connection.get_raw_connection()).driver_connection


async def _dump(connection: asyncpg.Connection, directory: Path) -> CopyContents:
    listed: dict[str, list[str]] = {}
    rows: dict[str, int] = {}
    for name in await _ordered(connection):
        columns = [row[0] for row in await connection.fetch(_COLUMNS, name)]
        keys = [row[0] for row in await connection.fetch(_KEY, f'"{name}"')]
        query = f'SELECT {_quoted(columns)} FROM "{name}" ORDER BY {_quoted(keys or columns)}'  # noqa: S608
        status = await connection.copy_from_query(
            query, output=str(directory / f"{name}.copy"), timeout=DAY_SECONDS
        )
        listed[name], rows[name] = columns, int(status.rpartition(" ")[2])
    (directory / LIST).write_text(json.dumps(listed, indent=1))
    return CopyContents(
        kind=PostgresCopier.kind,
        revision=str(await connection.fetchval(_REVISION)),
        tables=rows,
        last_session=await connection.fetchval(_LAST),
    )


async def _load(connection: asyncpg.Connection, directory: Path) -> None:
    try:
        listed: dict[str, list[str]] = json.loads((directory / LIST).read_bytes())
    except ValueError as error:
        raise DamagedCopy(f"{LIST} is damaged: {error}") from error
    await connection.execute(f"TRUNCATE {_quoted(list(listed))}")
    for name, columns in listed.items():
        # the copy already contains the tables that its triggers would write
        await connection.execute(f'ALTER TABLE "{name}" DISABLE TRIGGER USER')
        await _copy_rows(connection, name, directory / f"{name}.copy", columns)
        await connection.execute(f'ALTER TABLE "{name}" ENABLE TRIGGER USER')
    for row in await connection.fetch(_SEQUENCES):
        name, column = row["name"], row["place"]
        highest = await connection.fetchval(f'SELECT max("{column}") FROM "{name}"')  # noqa: S608
        sequence = "SELECT setval(pg_get_serial_sequence($1, $2), $3, $4)"
        await connection.fetchval(sequence, name, column, max(highest or 0, 1), bool(highest))


async def _copy_rows(
    connection: asyncpg.Connection, name: str, path: Path, columns: list[str]
) -> None:
    """Copy rows into a table; the driver would wait for a server that closed the connection."""
    copying = asyncio.ensure_future(
        connection.copy_to_table(name, source=str(path), columns=columns, timeout=DAY_SECONDS)
    )
    try:
        while not (await asyncio.wait({copying}, timeout=LOST_SECONDS))[0]:
            if connection.is_closed():
                raise asyncpg.ConnectionDoesNotExistError("the server closed the connection")
        await copying
    finally:
        copying.cancel()


async def _ordered(connection: asyncpg.Connection) -> list[str]:
    """Return our tables, each after the tables that it references."""
    graph: dict[str, set[str]] = {row["name"]: set() for row in await connection.fetch(_TABLES)}
    for row in await connection.fetch(_REFERENCES):
        graph[row["name"]].add(row["needs"])
    return list(graphlib.TopologicalSorter(graph).static_order())


def _quoted(names: list[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _hashes(directory: Path) -> dict[str, str]:
    return {
        path.name: sha256(path.read_bytes()).hexdigest()
        for path in sorted(directory.glob("*.copy"))
    }
