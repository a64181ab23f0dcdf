"""The database: `databases` over our own backend, and the two ways to use it."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from databases import Database as EncodeDatabase
from databases import DatabaseURL

from lamplighter.repository.backend import SafeTransaction


class Database(EncodeDatabase):
    """One database; `announce` is called after each commit that changed something."""

    SUPPORTED_BACKENDS = EncodeDatabase.SUPPORTED_BACKENDS | {
        "sqlite": "lamplighter.repository.backend:PooledBackend",
    }

    def __init__(self, url: str, *, announce: Callable[[], None] = lambda: None) -> None:
        super().__init__(url)
        self.announce = announce
        self.changed = False

    def transaction(self, *, force_rollback: bool = False, **options: Any) -> SafeTransaction:
        """Return a transaction that survives the cancellation of its task."""
        return SafeTransaction(self.connection, force_rollback=force_rollback, **options)

    async def __aenter__(self) -> "Database":
        await self.connect()
        return self

    @property
    def in_transaction(self) -> bool:
        """Whether this task is within a transaction."""
        return bool(self.connection()._transaction_stack)


@asynccontextmanager
async def writing(db: Database) -> AsyncIterator[None]:
    """Write in one transaction; within another one it is part of that.

    SQLite: the write lock is taken first, so that we wait for another process. A
    transaction that reads and then writes fails at once with "database is locked".
    Start no child tasks within it: they would wait for the one writer that it holds.
    """
    if db.in_transaction:
        yield
        return
    async with db.transaction():
        yield
    if db.changed:
        db.changed = False
        db.announce()


@asynccontextmanager
async def reading(db: Database) -> AsyncIterator[None]:
    """Read several things as of one moment; within a transaction it is part of that."""
    if db.in_transaction:
        yield
        return
    async with db.transaction(readonly=True):
        yield


def sqlite_url(path: Path) -> str:
    """Return the address of a SQLite file, whatever its name holds."""
    return f"sqlite:///{quote(str(path.absolute()))}"


def file_of(url: str) -> Path:
    """Return the file of a SQLite address."""
    return Path(DatabaseURL(url).database)
