"""The database: `databases` over our own backends, with safe cancellation of transactions."""

import asyncio
import fcntl
import os
from abc import abstractmethod
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import parse_qsl, quote, urlsplit

import sqlalchemy as sa
from databases import Database as EncodeDatabase
from databases import DatabaseURL
from databases.core import Connection, Transaction
from databases.interfaces import ConnectionBackend, TransactionBackend
from sqlalchemy.sql import ClauseElement

from lamplighter.repository.store import tables
from lamplighter.repository.store.driver import OperationalError
from lamplighter.repository.store.file_watch import FileWatch
from lamplighter.repository.store.statements import Row, StatementResult, value_of

if TYPE_CHECKING:
    from lamplighter.domain.services.notice import NoticePolicy
    from lamplighter.domain.sessions.session import Home
    from lamplighter.repository.store.statements import Fetch, Statement

CHANNEL: Final = "lamplighter_changes"
NOTIFY: Final = f"NOTIFY {CHANNEL}"
POSTGRES: Final = ("postgresql", "postgres")

T = TypeVar("T")


class RowConnection(ConnectionBackend):
    """The connection of one task: a reader, or the writer within a transaction."""

    @abstractmethod
    async def begin(self, *, readonly: bool, short: bool = False) -> None:
        """Begin a transaction on the writer, or on a reader for a consistent view.

        One COMMIT may end several `short` transactions of the writer.
        """

    @abstractmethod
    async def undo(self, *statements: str) -> None:
        """Run the statements that undo a transaction, unless the transaction is already over."""

    @abstractmethod
    async def run(self, statement: str) -> None:
        """Run a statement that has neither arguments nor rows."""

    @abstractmethod
    async def fetch_all(self, query: ClauseElement) -> list[Row]:  # type: ignore[override]
        """Return all rows."""

    def run_at_once(self, query: ClauseElement) -> StatementResult | None:
        """Run a statement that cannot wait; return None, without running it, if it may wait."""
        return None

    async def complete(self, work: Coroutine[Any, Any, None]) -> None:
        """Begin or end a transaction, to the end even when cancelled meanwhile."""
        await run_to_completion(work)

    async def acquire(self) -> None:
        """Take no connection yet: the first statement determines its kind."""

    async def fetch_each(self, queries: Sequence[ClauseElement]) -> list[list[Row]]:
        """Return all rows of each of several queries."""
        return [await self.fetch_all(query) for query in queries]

    def iterate(self, query: ClauseElement) -> AsyncGenerator[Row, None]:
        """Refuse: a cursor that is open across awaits prevents the cleanup of old data."""
        raise TypeError("Fetch a page of rows instead of holding a cursor open.")

    def transaction(self) -> "RowTransaction":
        """Return a transaction on this connection."""
        return RowTransaction(self)


class RowTransaction(TransactionBackend):
    """A transaction that waits for other writers, and savepoints within it."""

    def __init__(self, connection: RowConnection) -> None:
        self._connection = connection
        self._savepoint = ""

    async def start(self, is_root: bool, extra_options: dict[Any, Any]) -> None:
        """Begin; `readonly=True` opens a consistent view on a reader."""
        if is_root:
            await self._connection.begin(**{"readonly": False, **extra_options})
            return
        self._savepoint = f"nested_{id(self):x}"
        await self._connection.run(f"SAVEPOINT {self._savepoint}")

    async def commit(self) -> None:
        """Commit, or release the savepoint."""
        await self._connection.run(f"RELEASE {self._savepoint}" if self._savepoint else "COMMIT")

    async def rollback(self) -> None:
        """Roll back to the start; a full disk may have done so already."""
        name = self._savepoint
        undoing = (f"ROLLBACK TO {name}", f"RELEASE {name}") if name else ("ROLLBACK",)
        await self._connection.undo(*undoing)


class SafeTransaction(Transaction):
    """A transaction that always returns its connection, even if its task is cancelled."""

    _transaction: TransactionBackend | None = None  # `databases` copies a map for each change

    async def start(self) -> "SafeTransaction":
        """Begin; a cancelled or failed begin holds no connection."""
        connection: Connection = self._connection
        raw: Any = connection._connection
        transaction = raw.transaction()
        async with connection._transaction_lock:
            is_root = not connection._transaction_stack
            await connection.__aenter__()
            try:
                await raw.complete(transaction.start(is_root, self._extra_options))
            except BaseException:
                await connection.__aexit__()
                raise
            self._transaction = transaction
            connection._transaction_stack.append(self)
        return self

    async def commit(self) -> None:
        """Commit completely, even if cancelled meanwhile."""
        await self._end(self._begun.commit)

    async def rollback(self) -> None:
        """Roll back completely, even if cancelled meanwhile."""
        await self._end(self._begun.rollback)

    @property
    def _begun(self) -> TransactionBackend:
        assert self._transaction is not None
        return self._transaction

    async def _end(self, how: Callable[[], Coroutine[Any, Any, None]]) -> None:
        connection: Connection = self._connection
        raw: Any = connection._connection
        async with connection._transaction_lock:
            assert connection._transaction_stack[-1] is self
            connection._transaction_stack.pop()
            try:
                await raw.complete(how())
            finally:
                await connection.__aexit__()
                self._transaction = None


async def run_to_completion(work: Coroutine[Any, Any, T]) -> T:
    """Finish `work` even if this task is cancelled meanwhile; the cancellation follows."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
        except BaseException:
            break
    if cancelled is not None:
        raise cancelled from (None if task.cancelled() else task.exception())
    return task.result()


class Database(EncodeDatabase):
    """One database; `announce` is called after each commit that changed something.

    `fence`, if set, is called at the beginning of each `writing` and raises if this process may no
    longer write. `telling` is the policy for notifications of events; None sends none.
    """

    SUPPORTED_BACKENDS = {  # noqa: RUF012 - so it is declared there
        "sqlite": "lamplighter.repository.store.backend:PooledBackend",
        "postgresql": "lamplighter.repository.store.postgres:PostgresBackend",
        "postgres": "lamplighter.repository.store.postgres:PostgresBackend",
    }

    def __init__(self, url: str, *, announce: Callable[[], None] = lambda: None) -> None:
        # watches the database file; None for PostgreSQL, which checks its own files
        self.watch = None if is_postgres(url) else FileWatch(file_of(url))
        super().__init__(url, watch=self.watch)
        self.announce = announce
        self.changed = False
        self.fence: Callable[[], Awaitable[None]] | None = None
        self.telling: NoticePolicy | None = None
        # directory of the session output of this process, and the highest session number there
        self.home: Home | None = None
        # the identity of that home, for a read command that has no other information about it
        self.home_id = ""
        self.high_water: HighWater | None = None
        self.notifies = is_postgres(url)
        # cached data of groups of memories; see repository/analyses
        self.groups: dict[Any, Any] = {}
        # number of documents per word; see repository/index
        self.counts: object = None
        # number of imports running in this process; see serve/indexing
        self.bringing = 0
        # taken by each write in the background; see repository/batches
        self.background = asyncio.Lock()
        # indexing that a search started and no longer waits for; see repository/taking_in
        self.taking_in: asyncio.Task[int] | None = None

    async def disconnect(self) -> None:
        """Close every connection, after cancelling background indexing."""
        if self.taking_in is not None:
            self.taking_in.cancel()
            await asyncio.wait({self.taking_in})
        await super().disconnect()

    @property
    def problem(self) -> str:
        """The reason why writes are stopped; empty if the file has no problem."""
        return self.watch.problem if self.watch else ""

    @asynccontextmanager
    async def followed(self) -> AsyncIterator[None]:
        """Watch the file while this context is open."""
        if self.watch is None:
            yield
            return
        async with self.watch.followed():
            yield

    def transaction(self, *, force_rollback: bool = False, **options: Any) -> SafeTransaction:
        """Return a transaction that survives the cancellation of its task."""
        return SafeTransaction(self.connection, force_rollback=force_rollback, **options)

    def _run_at_once(self, query: Any) -> StatementResult | None:
        """Run a statement that cannot wait, without the locks of `databases`; else return None."""
        task = None if self._global_connection else asyncio.current_task()
        held = task and self._connection_map.get(task)
        return held and held._connection.run_at_once(query)  # type: ignore

    async def fetch_all(self, query: Any, values: Any = None) -> list[Any]:
        """Return all rows."""
        found = self._run_at_once(query)
        return found[0] if found else await super().fetch_all(query, values)

    async def fetch_one(self, query: Any, values: Any = None) -> Any:
        """Return the first row, or None."""
        rows = await self.fetch_all(query, values)
        return rows[0] if rows else None

    async def fetch_val(self, query: Any, values: Any = None, column: Any = 0) -> Any:
        """Return one value of the first row, or None."""
        return value_of(await self.fetch_all(query, values), column)

    async def execute(self, query: Any, values: Any = None) -> Any:
        """Run a statement; return the number of affected rows."""
        found = self._run_at_once(query)
        return await super().execute(query, values) if found is None else found[1]

    async def run_many(self, statement: "Statement", rows: Sequence[Mapping[str, Any]]) -> None:
        """Run a prepared statement once for each of some rows, in their order."""
        if rows:
            await self.execute_many(statement, list(rows))  # type: ignore[arg-type]

    async def fetch_each(self, queries: Sequence[Any]) -> "list[list[Row]]":
        """Return all rows of each of several queries, as fast as the database can give them."""
        async with self.connection() as connection, connection._query_lock:
            raw: Any = connection._connection
            found: list[list[Row]] = await raw.fetch_each(queries)
            return found

    async def fetch_together(self, *fetches: "Fetch[Any]") -> list[Any]:
        """Run the queries of several fetches, and return the result of each."""
        rows = iter(await self.fetch_each([query for each in fetches for query in each.queries]))
        return [each.read([next(rows) for _ in each.queries]) for each in fetches]

    async def fetch(self, fetch: "Fetch[T]") -> T:
        """Run the queries of one fetch, and return its result."""
        return fetch.read([await self.fetch_all(query) for query in fetch.queries])

    async def fetch_first(self, query: Any, read: Callable[[Any], T]) -> T | None:
        """Return the first row of a query, converted to a value; None without rows."""
        row = await self.fetch_one(query)
        return None if row is None else read(row)

    async def count_rows(self, table: sa.FromClause, *where: sa.ColumnElement[bool]) -> int:
        """Return the number of rows that meet all conditions."""
        query = sa.select(sa.func.count()).select_from(table).where(*where)
        return int(await self.fetch_val(query))

    async def __aenter__(self) -> "Database":
        await self.connect()
        return self

    @property
    def in_transaction(self) -> bool:
        """Whether this task is within a transaction."""
        return bool(self.connection()._transaction_stack)


@asynccontextmanager
async def writing(db: Database, *, short: bool = False) -> AsyncIterator[None]:
    """Write in one transaction; within another transaction, join it.

    `short` means that it takes a few milliseconds at most: its commit may wait for the short
    transactions of other tasks, and one commit then ends them all.

    The write lock is taken first, which may wait for another process: data that is read here stays
    valid until the commit. (On SQLite a transaction that reads and then writes would fail at once
    with "database is locked".) Start no child tasks within it: they would wait for the writer that
    it holds.
    """
    if db.in_transaction:
        yield
        return
    try:
        async with db.transaction(short=short):
            if db.fence is not None:
                await db.fence()
            yield
            if db.changed and db.notifies:
                await db.execute(NOTIFY)  # PostgreSQL delivers NOTIFY with the commit
    except BaseException:
        db.groups.clear()  # caches may contain data that was rolled back
        raise
    if db.changed:
        db.changed = False
        db.announce()


class _Discarded(Exception):
    """The end of a trial, which rolls back its writes."""


@asynccontextmanager
async def trying(db: Database) -> AsyncIterator[None]:
    """Write in one transaction that is always rolled back: no other reader sees the writes.

    For previews, which read the effects of a change. Not within another transaction.
    """
    assert not db.in_transaction
    changed = db.changed
    try:
        async with writing(db):
            yield
            raise _Discarded
    except _Discarded:
        db.changed = changed


@asynccontextmanager
async def reading(db: Database) -> AsyncIterator[None]:
    """Read several things as of one moment; within another transaction, join it."""
    if db.in_transaction:
        yield
        return
    async with db.transaction(readonly=True):
        yield


def home_of(db: Database) -> str:
    """Return the identity of the home that a database is opened for."""
    return db.home.id if db.home else db.home_id


def sqlite_url(path: Path) -> str:
    """Return the URL of a SQLite file, with its path quoted."""
    return f"sqlite:///{quote(str(path.absolute()))}"


def file_of(url: str) -> Path:
    """Return the file of a SQLite address."""
    return Path(DatabaseURL(url).database)


def is_postgres(url: str) -> bool:
    """Whether an address is of a PostgreSQL database, not of a SQLite file."""
    return DatabaseURL(url).dialect in POSTGRES


def display_address(url: str) -> str:
    """Return the parts of an address that people may read: the database and its host."""
    if not is_postgres(url):
        return str(file_of(url))
    address = DatabaseURL(url)
    where = address.hostname or address.options.get("host") or "localhost"
    return f"{address.database} at {where}"


def password_of(url: str) -> str | None:
    """Return the password in an address, or None."""
    if not is_postgres(url):
        return None
    address = DatabaseURL(url)
    return address.password or dict(parse_qsl(urlsplit(str(address)).query)).get("password")


FILE: Final = "last-session"
_DIGITS: Final = 20
_SEQUENCES: Final = sa.table("sqlite_sequence", sa.column("name"), sa.column("seq"))


class HighWater:
    """The highest session ID of a home.

    It is stored in a file beside the session files: a restored or lost database does not reset it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> int:
        """Return the highest ID so far, or 0."""
        try:
            return int(self._path.read_text() or 0)
        except (FileNotFoundError, ValueError):
            return 0

    def note(self, number: int) -> None:
        """Store an ID, unless a higher ID is stored. Raises OperationalError."""
        try:
            with self._locked() as file:
                if number > int(os.pread(file, _DIGITS, 0).strip() or 0):
                    os.pwrite(file, f"{number:0{_DIGITS}}\n".encode(), 0)
        except (OSError, ValueError) as error:
            raise OperationalError(f"{self._path} cannot be written: {error}") from error

    @contextmanager
    def _locked(self) -> Iterator[int]:
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file
        finally:
            os.close(file)


async def insert(db: Database, values: dict[str, Any]) -> Any:
    """Insert a session with an ID that was never used before, and return its row.

    Call it within `writing`. The ID is stored before the commit: a rollback skips the ID.
    """
    await follow(db, db.high_water.read() if db.high_water else 0)
    row = await db.fetch_one(sa.insert(tables.sessions).values(**values).returning(tables.sessions))
    assert row is not None
    if db.high_water:
        db.high_water.note(row["id"])
    return row


async def follow(db: Database, mark: int) -> None:
    """Make the ID of the next session higher than `mark`.

    On PostgreSQL it also becomes the ID after the last stored session: after a crash the sequence
    would continue up to 32 numbers further.
    """
    if db.notifies:
        highest = sa.select(
            sa.func.coalesce(sa.func.max(tables.sessions.c.id), 0)
        ).scalar_subquery()
        last = sa.func.greatest(highest, sa.cast(mark, sa.BigInteger))
        sequence = sa.func.pg_get_serial_sequence("sessions", "id")
        await db.fetch_val(sa.select(sa.func.setval(sequence, sa.func.greatest(last, 1), last > 0)))
    elif mark:
        await _follow_in_sqlite(db, mark)


async def _follow_in_sqlite(db: Database, mark: int) -> None:
    ours = _SEQUENCES.c.name == tables.sessions.name
    if await db.fetch_one(sa.select(_SEQUENCES.c.seq).where(ours)) is None:
        await db.execute(sa.insert(_SEQUENCES).values(name=tables.sessions.name, seq=mark))
        return
    behind = _SEQUENCES.c.seq < mark
    await db.execute(sa.update(_SEQUENCES).where(ours).where(behind).values(seq=mark))


async def revision_of(db: Database) -> str | None:
    """Return the schema revision of a database."""
    found: str | None = await db.fetch_val("SELECT version_num FROM alembic_version")
    return found
