"""A PostgreSQL database to be migrated."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

from lamplighter.repository.store.database import display_address
from lamplighter.repository.store.driver import OperationalError, is_server_limit, is_temporary
from lamplighter.repository.store.postgres import (
    LOCK_NAMESPACE,
    LOST_ERRORS,
    MIGRATOR,
    connect,
    translate_errors,
)
from lamplighter.repository.upkeep.migrate import MigrationSteps

logger = logging.getLogger(__name__)

RETRY_SECONDS: Final = 1.0
LOCK: Final = f"SELECT pg_advisory_xact_lock({LOCK_NAMESPACE}, {MIGRATOR})"
SELECT_REVISION: Final = "SELECT version_num FROM alembic_version"


class PostgresDatabase:
    """A PostgreSQL database; a lock in it keeps other processes out during a migration."""

    def __init__(self, url: str, *, patience: float = 0.0) -> None:
        self._url, self._patience = url, patience

    def __str__(self) -> str:
        return f"The database {display_address(self._url)}"

    def revision(self) -> str | None:
        """Return the current revision; None before the first migration."""
        return asyncio.run(self._revision())

    def migrate(self, steps: MigrationSteps) -> None:
        """Run the steps in one transaction; other processes wait until it ends."""
        asyncio.run(self._migrate(steps))

    def cannot_use(self, error: Exception) -> str:
        """Describe the problem and its remedy."""
        advice = (
            "Give the server more connections, memory or disk space, or end other programs that "
            "use them."
            if is_server_limit(error)
            else "Check LAMPLIGHTER_DATABASE_URL, that the server runs and accepts this user, and "
            "that this user may create tables."
        )
        return f"{self} cannot be used: {error}. {advice}"

    async def _revision(self) -> str | None:
        async with translate_errors():
            connection = await self._connected()
            try:
                if await connection.fetchval("SELECT to_regclass('alembic_version')") is None:
                    return None
                found = await connection.fetchval(SELECT_REVISION)
            finally:
                await connection.close()
        return None if found is None else str(found)

    async def _connected(self) -> Any:
        """Connect; wait for a server that is starting, as long as the patience allows."""
        deadline = time.monotonic() + self._patience
        while True:
            try:
                return await connect(self._url)
            except OperationalError as error:
                if not is_temporary(error) or time.monotonic() >= deadline:
                    raise
                logger.warning("%s is not available yet: %s", self, error)
            await asyncio.sleep(RETRY_SECONDS)

    async def _migrate(self, steps: MigrationSteps) -> None:
        async with migration(self._url, statement_timeout="0", lock_timeout="0") as connection:
            await connection.run_sync(steps)


@asynccontextmanager
async def migration(
    url: str, *, undo: bool = False, **limits: str
) -> AsyncIterator[AsyncConnection]:
    """Begin the transaction of a migration, one at a time; with `undo` it is rolled back.

    Raises OperationalError.
    """
    engine = create_async_engine(
        "postgresql+asyncpg://",
        async_creator=partial(connect, url, **limits),
        poolclass=sa.NullPool,
    )
    try:
        async with translate_errors(), engine.connect() as connection:
            await connection.execute(sa.text(LOCK))  # this statement begins the transaction
            try:
                yield connection
            except LOST_ERRORS:
                await connection.invalidate()  # a rollback would fail, and hide this error
                raise
            await (connection.rollback() if undo else connection.commit())
    except sa.exc.DBAPIError as error:
        raise OperationalError(str(error.orig)) from error
    finally:
        await engine.dispose()
