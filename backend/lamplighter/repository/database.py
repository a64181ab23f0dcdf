"""The database: `databases` over our own backends, and the two ways to use it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, quote, urlsplit

from databases import Database as EncodeDatabase
from databases import DatabaseURL

from lamplighter.domain.home import Home
from lamplighter.domain.notice import Telling
from lamplighter.repository.connection import SafeTransaction
from lamplighter.repository.file_watch import FileWatch
from lamplighter.repository.prepared import Statement

if TYPE_CHECKING:
    from lamplighter.repository.numbers import HighWater

CHANNEL: Final = "lamplighter_changes"
NOTIFY: Final = f"NOTIFY {CHANNEL}"
POSTGRES: Final = ("postgresql", "postgres")


class Database(EncodeDatabase):
    """One database; `announce` is called after each commit that changed something.

    `fence`, where it is set, is asked at the beginning of each `writing` whether
    this process may still write; it raises when it may not. `telling` says which
    events people are told of; None tells nobody anything.
    """

    SUPPORTED_BACKENDS = {  # noqa: RUF012 - so it is declared there
        "sqlite": "lamplighter.repository.backend:PooledBackend",
        "postgresql": "lamplighter.repository.postgres:PostgresBackend",
        "postgres": "lamplighter.repository.postgres:PostgresBackend",
    }

    def __init__(self, url: str, *, announce: Callable[[], None] = lambda: None) -> None:
        # what looks after the file; a PostgreSQL server looks after its own
        self.watch = None if is_postgres(url) else FileWatch(file_of(url))
        super().__init__(url, watch=self.watch)
        self.announce = announce
        self.changed = False
        self.fence: Callable[[], Awaitable[None]] | None = None
        self.telling: Telling | None = None
        # where this process keeps the output of sessions, and the highest number of one there
        self.home: Home | None = None
        self.high_water: HighWater | None = None
        self.notifies = is_postgres(url)
        # what this process holds in memory of groups of memories; see repository/analyses
        self.groups: dict[Any, Any] = {}
        # how many documents hold a word; see repository/index
        self.counts: object = None
        # how many imports are at work in this process; see serve/indexing
        self.bringing = 0
        # what a search began to index and no longer waits for; see repository/taking_in
        self.taking_in: asyncio.Task[int] | None = None

    async def disconnect(self) -> None:
        """Close every connection; what still works by itself is ended."""
        if self.taking_in is not None:
            self.taking_in.cancel()
            await asyncio.wait({self.taking_in})
        await super().disconnect()

    @property
    def problem(self) -> str:
        """Say why nothing may be written now; empty when nothing is wrong with the file."""
        return self.watch.problem if self.watch else ""

    @asynccontextmanager
    async def followed(self) -> AsyncIterator[None]:
        """Look after the file for as long as this is open."""
        if self.watch is None:
            yield
            return
        async with self.watch.followed():
            yield

    def transaction(self, *, force_rollback: bool = False, **options: Any) -> SafeTransaction:
        """Return a transaction that survives the cancellation of its task."""
        return SafeTransaction(self.connection, force_rollback=force_rollback, **options)

    async def run_many(self, statement: Statement, rows: Sequence[Mapping[str, Any]]) -> None:
        """Run a prepared statement once for each of some rows, in their order."""
        if rows:
            await self.execute_many(statement, list(rows))  # type: ignore[arg-type]

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

    The right to write is taken first, so that we wait for another process: what is
    read here stays true until the commit. (On SQLite a transaction that reads and
    then writes would fail at once with "database is locked".)
    Start no child tasks within it: they would wait for the one writer that it holds.
    """
    if db.in_transaction:
        yield
        return
    try:
        async with db.transaction():
            if db.fence is not None:
                await db.fence()
            yield
            if db.changed and db.notifies:
                await db.execute(NOTIFY)  # PostgreSQL delivers it with the commit
    except BaseException:
        db.groups.clear()  # they may have seen what was undone now
        raise
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


def is_postgres(url: str) -> bool:
    """Whether an address is one of a PostgreSQL database, and not of a SQLite file."""
    return DatabaseURL(url).dialect in POSTGRES


def shown(url: str) -> str:
    """Return what a person may read of an address: which database, and where."""
    if not is_postgres(url):
        return str(file_of(url))
    address = DatabaseURL(url)
    where = address.hostname or address.options.get("host") or "localhost"
    return f"{address.database} at {where}"


def password_of(url: str) -> str | None:
    """Return the password in an address; None when it has none."""
    if not is_postgres(url):
        return None
    address = DatabaseURL(url)
    return address.password or dict(parse_qsl(urlsplit(str(address)).query)).get("password")
