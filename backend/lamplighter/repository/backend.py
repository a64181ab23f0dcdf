"""A pooled, cancellation-safe SQLite backend for `databases`.

The stock backend opens a connection and a thread for each query, begins its
transactions in a way that cannot wait for another process, and loses a
connection whose transaction is cancelled. This one holds one writer and a few
readers open. Statements outside a transaction go to a reader, which cannot
write: whoever writes does so within `writing(db)`.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import aiosqlite
from databases import DatabaseURL
from databases.interfaces import DatabaseBackend
from sqlalchemy.dialects.sqlite import pysqlite
from sqlalchemy.sql import ClauseElement

from lamplighter.repository import driver
from lamplighter.repository.connection import RowConnection
from lamplighter.repository.file_watch import FileWatch
from lamplighter.repository.pool import Pool, interrupt
from lamplighter.repository.prepared import Bound, Columns
from lamplighter.repository.statements import Compiler, Row, rows_of
from lamplighter.repository.write_log import WriteLog

READERS: Final = 3
AGAIN_SECONDS: Final = 0.004

T = TypeVar("T")


class PooledBackend(DatabaseBackend):
    """The writer and the readers of one SQLite file."""

    def __init__(
        self, database_url: DatabaseURL | str, *, watch: FileWatch | None = None, **_: Any
    ) -> None:
        path = DatabaseURL(database_url).database
        self.watch = watch or FileWatch(Path(path))
        self.log = WriteLog(Path(path))
        self.writers = Pool(path, size=1, readonly=False)
        self.readers = Pool(path, size=READERS, readonly=True)
        self.compile = Compiler(pysqlite.dialect(paramstyle="qmark"))

    async def connect(self) -> None:
        """Open every connection."""
        self.watch.open()
        try:
            await self.writers.open()
            await self.readers.open()
            self.watch.opened()
        except BaseException:
            await self.disconnect()
            raise

    async def disconnect(self) -> None:
        """Close every connection."""
        await self.readers.close()
        await self.writers.close()
        self.watch.close()

    def connection(self) -> "PooledConnection":
        """Return a task's connection; it takes a real one when it first needs it."""
        return PooledConnection(self)


class PooledConnection(RowConnection):
    """What one task has taken of a SQLite file."""

    def __init__(self, backend: PooledBackend) -> None:
        self._backend = backend
        self._held: aiosqlite.Connection | None = None
        self._abandoned = False
        self._pool = backend.readers

    async def release(self) -> None:
        """Give back what was taken. Never waits, so it cannot be cancelled half-way."""
        held, self._held = self._held, None
        if held is not None:
            self._pool.give_back(held, abandoned=self._abandoned)

    async def begin(self, *, readonly: bool) -> None:
        """Begin: IMMEDIATE for the writer, which can wait for another process.

        SQLite's own waiting tries every 100 ms after a while, and so is overtaken by
        a process that writes again and again; ours tries often enough to find each gap.
        """
        self._pool = self._backend.readers if readonly else self._backend.writers
        self._held = await self._pool.take()
        if readonly:
            await self.run("BEGIN DEFERRED")
            return
        deadline = time.monotonic() + driver.BUSY_SECONDS
        while not await self._begun():
            if time.monotonic() > deadline:
                raise driver.OperationalError("database is locked")
            await asyncio.sleep(AGAIN_SECONDS)
        self._backend.watch.guard()

    async def _begun(self) -> bool:
        """Begin to write; says whether no other process does just now."""
        try:
            await self.run("BEGIN IMMEDIATE")
        except driver.OperationalError as error:
            if not driver.is_busy(error):
                raise
            return False
        return True

    async def run(self, statement: str) -> None:
        """Run a statement that has neither arguments nor rows."""
        writes = statement == "COMMIT" and self._pool is self._backend.writers
        if writes:
            self._backend.watch.guard()

        def run(raw: driver.Connection) -> None:
            raw.execute(statement).close()
            if writes:
                self._backend.log.shorten(raw)

        await self._call(run)

    async def fetch_all(self, query: ClauseElement) -> list[Row]:  # type: ignore[override]
        """Return all rows."""
        sql, arguments, columns = self._backend.compile(query)

        def fetch(raw: driver.Connection) -> tuple[Any, list[Any]]:
            cursor = raw.execute(sql, arguments)
            rows = cursor.fetchall()
            described = cursor.description
            cursor.close()
            return described, rows

        described, rows = await self._call(fetch, inline=_brief(query))
        return rows_of(rows, columns or _plain(described))

    async def execute(self, query: ClauseElement) -> int:
        """Run a statement; returns how many rows it touched."""
        sql, arguments, _ = self._backend.compile(query)

        def execute(raw: driver.Connection) -> int:
            cursor = raw.execute(sql, arguments)
            count = cursor.rowcount
            cursor.close()
            return count

        return await self._call(execute, inline=_brief(query))

    async def execute_many(self, queries: list[ClauseElement]) -> None:
        """Run statements of one shape in one go."""
        compiled = [self._backend.compile(query)[:2] for query in queries]

        def execute(raw: driver.Connection) -> None:
            for sql, arguments in compiled:
                raw.execute(sql, arguments).close()

        await self._call(execute)

    async def undo(self, *statements: str) -> None:
        """Run what undoes a transaction; one that is over already needs nothing.

        It is asked on the connection's thread: asking here would wait, and hold everything up,
        for a statement that still runs there.
        """

        def undo(raw: driver.Connection) -> None:
            for statement in statements if raw.in_transaction else ():
                raw.execute(statement).close()

        await self._call(undo)

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
        self._abandoned = False
        try:
            if inline and self._pool is self._backend.writers:
                return work(held._conn)
            result: T = await held._execute(  # type: ignore[no-untyped-call]
                lambda: work(held._conn)
            )
        except asyncio.CancelledError:
            self._abandoned = True
            interrupt(held)  # or on its thread it would run on
            raise
        except driver.DatabaseError as error:
            if not driver.is_damage(error):
                raise
            self._backend.watch.doubt()
            raise driver.Unsound(str(error)) from error
        return result


def _brief(query: ClauseElement) -> bool:
    return isinstance(query, Bound) and not query.statement.long


def _plain(described: Sequence[Sequence[Any]] | None) -> Columns:
    return tuple(str(column[0]) for column in described or ()), ()
