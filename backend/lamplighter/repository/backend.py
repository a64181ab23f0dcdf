"""A pooled, cancellation-safe SQLite backend for `databases`.

The stock backend opens a connection and a thread for each query, begins its
transactions in a way that cannot wait for another process, and loses a
connection whose transaction is cancelled. This one holds one writer and a few
readers open. Statements outside a transaction go to a reader, which cannot
write: whoever writes does so within `writing(db)`.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from typing import Any, Final, TypeVar

import aiosqlite
from databases import DatabaseURL
from databases.core import Connection, Transaction
from databases.interfaces import ConnectionBackend, DatabaseBackend, TransactionBackend
from sqlalchemy.dialects.sqlite import pysqlite
from sqlalchemy.sql import ClauseElement
from sqlalchemy.util import LRUCache

from lamplighter.repository import driver
from lamplighter.repository.pool import Pool
from lamplighter.repository.prepared import Bound, Columns, columns_of

READERS: Final = 3
STATEMENTS_CACHED: Final = 1_000
KNOWN: Final = "_lamplighter_columns"

T = TypeVar("T")


class Row(dict[str, Any]):
    """One row, its values by the names of their columns."""

    @property
    def _mapping(self) -> "Row":
        return self


class PooledBackend(DatabaseBackend):
    """The writer and the readers of one SQLite file."""

    def __init__(self, database_url: DatabaseURL | str, **_: Any) -> None:
        path = DatabaseURL(database_url).database
        self.writers = Pool(path, size=1, readonly=False)
        self.readers = Pool(path, size=READERS, readonly=True)
        self.dialect = pysqlite.dialect(paramstyle="qmark")
        self.compiled: LRUCache[Any, Any] = LRUCache(STATEMENTS_CACHED)

    async def connect(self) -> None:
        """Open every connection."""
        await self.writers.open()
        try:
            await self.readers.open()
        except BaseException:
            await self.writers.close()
            raise

    async def disconnect(self) -> None:
        """Close every connection."""
        await self.readers.close()
        await self.writers.close()

    def connection(self) -> "PooledConnection":
        """Return a task's connection; it takes a real one when it first needs it."""
        return PooledConnection(self)


class PooledConnection(ConnectionBackend):
    """What one task has taken: a reader, or the writer within a transaction."""

    def __init__(self, backend: PooledBackend) -> None:
        self._backend = backend
        self._held: aiosqlite.Connection | None = None
        self._pool = backend.readers

    async def acquire(self) -> None:
        """Take nothing yet: what is needed shows with the first statement."""

    async def release(self) -> None:
        """Give back what was taken. Never waits, so it cannot be cancelled half-way."""
        held, self._held = self._held, None
        if held is not None:
            self._pool.give_back(held)

    async def begin(self, statement: str, *, readonly: bool) -> None:
        """Begin a transaction on the writer, or on a reader for a steady view."""
        self._pool = self._backend.readers if readonly else self._backend.writers
        self._held = await self._pool.take()
        await self.run(statement)

    async def run(self, statement: str) -> None:
        """Run a statement that has neither arguments nor rows."""
        await self._call(lambda raw: raw.execute(statement).close())

    async def fetch_all(self, query: ClauseElement) -> list[Row]:  # type: ignore[override]
        """Return all rows."""
        sql, arguments, columns = self._compile(query)

        def fetch(raw: driver.Connection) -> tuple[Any, list[Any]]:
            cursor = raw.execute(sql, arguments)
            rows = cursor.fetchall()
            described = cursor.description
            cursor.close()
            return described, rows

        described, rows = await self._call(fetch, inline=isinstance(query, Bound))
        return _rows(rows, columns or _plain(described))

    async def fetch_one(self, query: ClauseElement) -> Row | None:  # type: ignore[override]
        """Return the first row, or None."""
        rows = await self.fetch_all(query)
        return rows[0] if rows else None

    async def fetch_val(self, query: ClauseElement, column: Any = 0) -> Any:
        """Return one value of the first row, or None."""
        row = await self.fetch_one(query)
        if row is None:
            return None
        return list(row.values())[column] if isinstance(column, int) else row[column]

    async def execute(self, query: ClauseElement) -> int:
        """Run a statement; returns the new id of an insert, else how many rows it touched."""
        sql, arguments, _ = self._compile(query)

        def execute(raw: driver.Connection) -> tuple[int | None, int]:
            cursor = raw.execute(sql, arguments)
            touched = cursor.lastrowid, cursor.rowcount
            cursor.close()
            return touched

        new_id, count = await self._call(execute, inline=isinstance(query, Bound))
        return (new_id or 0) if _inserts(query) else count

    async def execute_many(self, queries: list[ClauseElement]) -> None:
        """Run statements of one shape in one go."""
        compiled = [self._compile(query)[:2] for query in queries]

        def execute(raw: driver.Connection) -> None:
            for sql, arguments in compiled:
                raw.execute(sql, arguments).close()

        await self._call(execute)

    def iterate(self, query: ClauseElement) -> AsyncGenerator[Row, None]:
        """Refuse: a cursor held open across awaits stops the WAL from being checkpointed."""
        raise TypeError("Fetch a page of rows instead of holding a cursor open.")

    def transaction(self) -> "PooledTransaction":
        """Return a transaction on what this task holds."""
        return PooledTransaction(self)

    @property
    def raw_connection(self) -> Any:
        """Return the connection of the SQLite library."""
        return self._held

    async def _call(self, work: Callable[[driver.Connection], T], *, inline: bool = False) -> T:
        """Run on the connection's thread; a prepared statement of ours that writes, right here.

        Within a write transaction no other process can make it wait, and going
        to a thread and back costs more than the statement.
        """
        if self._held is None:
            self._pool = self._backend.readers
            self._held = await self._pool.take()
        held = self._held
        if inline and self._pool is self._backend.writers:
            return work(held._conn)
        result: T = await held._execute(lambda: work(held._conn))  # type: ignore[no-untyped-call]
        return result

    def _compile(self, query: ClauseElement | Bound) -> tuple[str, Sequence[Any], Columns | None]:
        dialect = self._backend.dialect
        if isinstance(query, Bound):
            prepared = query.statement.compiled(dialect)
            return prepared.sql, prepared.arguments(query.values), prepared.columns
        compiled: Any  # what follows is SQLAlchemy's own; a test fails when it changes
        compiled, extracted = query._compile_w_cache(
            dialect=dialect,
            compiled_cache=self._backend.compiled,
            column_keys=[],
            for_executemany=False,
            schema_translate_map=None,
        )[:2]
        given = compiled.construct_params(extracted_parameters=extracted, escape_names=False)
        sql, positions, processors = (
            compiled.string,
            compiled.positiontup,
            compiled._bind_processors,
        )
        if compiled.post_compile_params or compiled.literal_execute_params:
            expanded = compiled._process_parameters_for_postcompile(given)
            sql, positions = expanded.statement, expanded.positiontup
            given = {**given, **expanded.additional_parameters}
            processors = {**processors, **expanded.processors}
        arguments = [
            processors[name](given[name]) if name in processors else given[name]
            for name in positions or ()
        ]
        known = compiled.__dict__
        if KNOWN not in known:
            known[KNOWN] = columns_of(compiled, dialect)
        return sql, arguments, known[KNOWN]


class PooledTransaction(TransactionBackend):
    """BEGIN IMMEDIATE, which can wait for another process, and savepoints within it."""

    def __init__(self, connection: PooledConnection) -> None:
        self._connection = connection
        self._savepoint = ""

    async def start(self, is_root: bool, extra_options: dict[Any, Any]) -> None:
        """Begin; `readonly=True` takes a steady view on a reader."""
        if not is_root:
            self._savepoint = f"nested_{id(self):x}"
            await self._connection.run(f"SAVEPOINT {self._savepoint}")
            return
        readonly = bool(extra_options.get("readonly"))
        statement = "BEGIN DEFERRED" if readonly else "BEGIN IMMEDIATE"
        await self._connection.begin(statement, readonly=readonly)

    async def commit(self) -> None:
        """Commit, or release the savepoint."""
        await self._connection.run(f"RELEASE {self._savepoint}" if self._savepoint else "COMMIT")

    async def rollback(self) -> None:
        """Roll back to where it began."""
        if self._savepoint:
            await self._connection.run(f"ROLLBACK TO {self._savepoint}")
            await self._connection.run(f"RELEASE {self._savepoint}")
        else:
            await self._connection.run("ROLLBACK")


class SafeTransaction(Transaction):
    """A transaction that a cancelled task always gives back whole."""

    async def start(self) -> "SafeTransaction":
        """Begin; a cancelled or failed begin leaves nothing taken."""
        connection: Connection = self._connection
        transaction = connection._connection.transaction()
        async with connection._transaction_lock:
            is_root = not connection._transaction_stack
            await connection.__aenter__()
            try:
                await to_the_end(transaction.start(is_root, self._extra_options))
            except BaseException:
                await connection.__aexit__()
                raise
            self._transaction = transaction
            connection._transaction_stack.append(self)
        return self

    async def commit(self) -> None:
        """Commit to the end even when cancelled meanwhile."""
        await self._end(self._begun.commit)

    async def rollback(self) -> None:
        """Roll back to the end even when cancelled meanwhile."""
        await self._end(self._begun.rollback)

    @property
    def _begun(self) -> TransactionBackend:
        assert self._transaction is not None
        return self._transaction

    async def _end(self, how: Callable[[], Coroutine[Any, Any, None]]) -> None:
        connection: Connection = self._connection
        async with connection._transaction_lock:
            assert connection._transaction_stack[-1] is self
            connection._transaction_stack.pop()
            try:
                await to_the_end(how())
            finally:
                await connection.__aexit__()
                self._transaction = None


async def to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """Finish `work` even if we are cancelled meanwhile; the cancellation follows after it."""
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


def _inserts(query: ClauseElement | Bound) -> bool:
    statement = query.statement.statement if isinstance(query, Bound) else query
    return bool(getattr(statement, "is_insert", False))


def _plain(described: Sequence[Sequence[Any]] | None) -> Columns:
    return tuple(str(column[0]) for column in described or ()), ()


def _rows(rows: Sequence[Sequence[Any]], columns: Columns) -> list[Row]:
    names, processors = columns
    found = [Row(zip(names, row, strict=True)) for row in rows]
    for name, work in processors:
        for row in found:
            row[name] = work(row[name])
    return found
