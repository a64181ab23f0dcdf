"""State of a PostgreSQL database, read without changing it, for the doctor."""

import asyncio
from typing import Final

import asyncpg

from lamplighter.repository.search.index_state import check_server
from lamplighter.repository.store.dialect import moment
from lamplighter.repository.store.postgres import LOCK_NAMESPACE, WRITER, connected
from lamplighter.repository.upkeep.database_state import DatabaseCondition

READ_ONLY: Final = "SELECT pg_is_in_recovery()"
MAY_WRITE: Final = (
    "SELECT coalesce(bool_and(has_table_privilege(oid, 'INSERT')"
    " AND has_table_privilege(oid, 'UPDATE') AND has_table_privilege(oid, 'DELETE')), true)"
    " FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace"
)
NEWEST: Final = "SELECT at FROM changes ORDER BY seq DESC LIMIT 1"
WAIT: Final = f"SELECT pg_advisory_xact_lock_shared({LOCK_NAMESPACE}, {WRITER})"


def inspect_server(url: str) -> DatabaseCondition:
    """Inspect a database; raises OperationalError if the database cannot be read."""
    return asyncio.run(inspect_connection(url))


async def inspect_connection(url: str) -> DatabaseCondition:
    """Inspect a database within a running event loop; raises as `inspect_server` does."""
    async with connected(url, lock_timeout="2s") as connection:
        if await connection.fetchval(READ_ONLY):
            return DatabaseCondition("the database accepts no writes (a standby)", False, None)
        if not await connection.fetchval(MAY_WRITE):
            return DatabaseCondition("this user may not write to its tables", False, None)
        held = await connection.fetchval("SELECT to_regclass('changes') IS NOT NULL")
        newest = await connection.fetchval(NEWEST) if held else None
        at = None if newest is None else moment(newest)
        index = await check_server(connection)
        return DatabaseCondition("ok", await _locked(connection), at, index)


async def _locked(connection: asyncpg.Connection) -> bool:
    """Whether writes stay blocked; waiting for the writer's lock writes nothing."""
    try:
        await connection.execute(WAIT)
    except asyncpg.LockNotAvailableError:
        return True
    return False
