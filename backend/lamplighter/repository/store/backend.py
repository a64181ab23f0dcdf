"""A pooled, cancellation-safe SQLite backend for `databases`.

The stock backend opens a connection and a thread for each query, begins its transactions in a way
that cannot wait for another process, and loses a connection whose transaction is cancelled. This
backend holds one writer and a few readers open. Statements outside a transaction go to a reader,
which cannot write: writers use `writing(db)`.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeVar

import aiosqlite
from databases import DatabaseURL
from databases.interfaces import DatabaseBackend
from sqlalchemy.dialects.sqlite import pysqlite
from sqlalchemy.sql import ClauseElement

from lamplighter.repository.store import driver
from lamplighter.repository.store.commit_group import JOIN, LEAVE, ROLLED_BACK, CommitGroup
from lamplighter.repository.store.database import RowConnection, run_to_completion
from lamplighter.repository.store.file_watch import FileWatch
from lamplighter.repository.store.statements import (
    BoundStatement,
    Columns,
    Compiler,
    Row,
    StatementResult,
    rows_of,
)

ACQUIRE_SECONDS: Final = 30.0
MAX_WAITING: Final = {True: 400, False: 64}
"""The maximum number of tasks waiting for a reader, or the writer: more would wait too long."""
ROLLBACK_POLL_SECONDS: Final = 0.05
COMPILER: Final = Compiler(pysqlite.dialect(paramstyle="qmark"))
"""Compiles each statement once per process, for all databases that the process opens."""


def interrupt(connection: aiosqlite.Connection) -> None:
    """Interrupt the statement that is running on a connection: closing would wait for it."""
    with suppress(driver.Error, ValueError):  # already closed
        connection._conn.interrupt()


async def interrupting(connection: aiosqlite.Connection, work: Coroutine[Any, Any, None]) -> None:
    """Wait for work of a connection's thread, interrupting the statement that runs before it."""
    done = asyncio.ensure_future(work)
    while not (await asyncio.wait({done}, timeout=ROLLBACK_POLL_SECONDS))[0]:
        interrupt(connection)  # an interrupt before the statement begins is lost
    await done


class Pool:
    """Open connections of one kind; taking a connection waits, and fails after a time limit."""

    def __init__(self, path: str, *, size: int, readonly: bool) -> None:
        self._path, self._size, self._readonly = path, size, readonly
        self._free: asyncio.LifoQueue[aiosqlite.Connection] = asyncio.LifoQueue()
        self._all: list[aiosqlite.Connection] = []
        self._waiting = 0
        self.group = CommitGroup()
        self._ending: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Open all connections now: a wrong path must fail at the start."""
        try:
            for _ in range(self._size):
                self._all.append(await self._opened())
                self._free.put_nowait(self._all[-1])
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Close all connections, including those in use."""
        if self._ending:
            await asyncio.wait(self._ending)
        for connection in self._all:
            idle = connection._execute(lambda: None)  # type: ignore[no-untyped-call]
            await interrupting(connection, idle)
            await connection.close()
        self.group.end(driver.OperationalError(ROLLED_BACK))
        self._all.clear()
        self._free = asyncio.LifoQueue()

    async def take(self) -> aiosqlite.Connection:
        """Wait for a free connection, after the tasks that wait already."""
        if not self._waiting:
            with suppress(asyncio.QueueEmpty):
                return self._free.get_nowait()
        if self._waiting >= MAX_WAITING[self._readonly]:
            raise driver.OperationalError(f"{self._waiting} other requests wait for a connection")
        self._waiting += 1
        try:
            async with asyncio.timeout(ACQUIRE_SECONDS):
                await asyncio.sleep(0)  # a returned connection goes to an earlier task first
                return await self._free.get()
        except TimeoutError:
            late = f"no connection became free in {ACQUIRE_SECONDS:g} s"
            raise driver.OperationalError(late) from None
        finally:
            self._waiting -= 1

    @property
    def next_waits(self) -> bool:
        """Whether a task waits for a connection."""
        return self._waiting > 0

    def pass_on(self, connection: aiosqlite.Connection) -> None:
        """Give a connection with an open transaction to the next task that waits for it."""
        self._free.put_nowait(connection)

    def left_over(self) -> aiosqlite.Connection | None:
        """Take a passed connection that no task waits for any more: it timed out, or was ended."""
        if not self.group.is_open or self._waiting or self._free.empty():
            return None
        return self._free.get_nowait()

    def give_back(self, connection: aiosqlite.Connection, *, abandoned: bool = False) -> None:
        """Return a connection without waiting; an open transaction is rolled back first.

        `abandoned` means that no task waits for the running statement any more: it is interrupted.
        Even a check for an open transaction would wait for that statement.
        """
        if abandoned:
            interrupt(connection)
        elif not connection.in_transaction:
            self._free.put_nowait(connection)
            return
        self.run_to_end(self._roll_back(connection, abandoned=abandoned))

    def run_to_end(self, work: Coroutine[Any, Any, None]) -> None:
        """Run work that ends a transaction, in a task that closing the pool waits for."""
        task = asyncio.ensure_future(work)
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def _roll_back(self, connection: aiosqlite.Connection, *, abandoned: bool) -> None:
        rolled = connection.rollback()
        try:
            await (interrupting(connection, rolled) if abandoned else rolled)
        finally:
            self.group.end(driver.OperationalError(ROLLED_BACK))
            self._free.put_nowait(connection)

    async def _opened(self) -> aiosqlite.Connection:
        connection = aiosqlite.Connection(self._connect, 64)
        connection._thread.daemon = True  # otherwise an open connection would block the exit
        try:
            return await connection
        except BaseException:
            await asyncio.to_thread(connection._thread.join)  # else the thread outlives the loop
            raise

    def _connect(self) -> driver.Connection:
        connection = driver.connect(self._path, readonly=self._readonly)
        if not self._readonly:
            driver.disable_busy_wait(connection)
        return connection


LONGEST_BYTES: Final = 10 * 2**20  # SQLite's own checkpoints start at 8 MiB
AGAIN_BYTES: Final = 2**20
WAIT_MS: Final = 50


class WriteLog:
    """The write-ahead log of one database file.

    SQLite restarts its log when a write finds no reader in the log. On a busy machine readers
    overlap, that moment never comes, and the log grows. A truncating checkpoint copies all of the
    log first: readers that start meanwhile need no log, and only running readers are waited for.
    """

    def __init__(self, database: Path) -> None:
        self._path = Path(f"{database}-wal")
        self._limit = LONGEST_BYTES

    def shorten(self, connection: driver.Connection) -> None:
        """Truncate a log that is too long; call it on the writer's connection after a commit.

        It waits 50 ms at most. If a reader runs longer, the next attempt is made when the log has
        grown by 1 MiB.
        """
        size = self._size()
        if size < self._limit - AGAIN_BYTES:
            self._limit = LONGEST_BYTES
        if size < self._limit:
            return
        self._limit = size + AGAIN_BYTES
        with suppress(driver.OperationalError):  # a full disk: the commit itself is done
            connection.execute(f"PRAGMA busy_timeout={WAIT_MS}")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").close()
        driver.disable_busy_wait(connection)

    def _size(self) -> int:
        try:
            return self._path.stat().st_size
        except FileNotFoundError:
            return 0


READERS: Final = 3
BUSY_RETRY_SECONDS: Final = 0.004

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
        self.compile = COMPILER

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
        """Return a task's connection, which takes a pooled connection at its first use."""
        return PooledConnection(self)


class PooledConnection(RowConnection):
    """The connection of one task to a SQLite file."""

    def __init__(self, backend: PooledBackend) -> None:
        self._backend = backend
        self._held: aiosqlite.Connection | None = None
        self._abandoned = False
        self._pool = backend.readers
        self._views = False
        self._short = False

    async def release(self) -> None:
        """Return the connection to its pool. Never waits: a cancellation cannot interrupt it."""
        held, self._held = self._held, None
        self._views = False
        if held is not None:
            self._pool.give_back(held, abandoned=self._abandoned)

    async def complete(self, work: Coroutine[Any, Any, None]) -> None:
        """Begin or end a transaction; a commit of the writer to the end even when cancelled.

        All others run in the event loop. Of a rollback of a reader that is cancelled `release`
        does the rest.
        """
        await (super().complete(work) if self._writes else work)

    async def begin(self, *, readonly: bool, short: bool = False) -> None:
        """Begin: IMMEDIATE for the writer, which can wait for another process.

        SQLite itself retries only every 100 ms after a while, and a process that writes repeatedly
        overtakes it; our retries are frequent enough to find each gap.
        """
        self._pool = self._backend.readers if readonly else self._backend.writers
        try:
            self._held = await self._pool.take()
        except BaseException:
            self._end_left_group()
            raise
        self._views, self._short = False, short
        if readonly:
            await self.run("BEGIN DEFERRED")
            return
        if self._pool.group.is_open:
            if short:
                await self.run(JOIN)
                return
            await run_to_completion(self._commit())
        deadline = time.monotonic() + driver.BUSY_SECONDS
        while not await self._begun():
            if time.monotonic() > deadline:
                raise driver.OperationalError("database is locked")
            await asyncio.sleep(BUSY_RETRY_SECONDS)
        self._backend.watch.guard()

    async def _begun(self) -> bool:
        """Begin to write; return False if another process is writing."""
        try:
            await self.run("BEGIN IMMEDIATE")
        except driver.OperationalError as error:
            if not driver.is_busy(error):
                raise
            return False
        return True

    async def run(self, statement: str) -> None:
        """Run a statement that has neither arguments nor rows."""
        if statement != "COMMIT" or not self._writes:
            # BEGIN never waits: a writer gets "database is busy" immediately, and a reader only
            # opens its view without reading
            await self._call(lambda raw: raw.execute(statement).close(), inline=True)
        elif self._may_leave_commit:
            await self._leave_commit()
        else:
            await self._commit()

    @property
    def _may_leave_commit(self) -> bool:
        """Whether the next task can commit this transaction, which an error may have ended."""
        next_waits = self._short and self._pool.next_waits and not self._pool.group.is_full
        return next_waits and self._held is not None and self._held.in_transaction

    async def _leave_commit(self) -> None:
        """Wait for the COMMIT of the next transaction."""
        assert self._held is not None
        connection, self._held = self._held, None
        done = self._pool.group.wait()
        self._pool.pass_on(connection)
        await done

    async def _commit(self) -> None:
        """Commit in the thread, because this writes the file."""

        def commit(raw: driver.Connection) -> None:
            raw.execute("COMMIT").close()
            self._backend.log.shorten(raw)

        try:
            self._backend.watch.guard()
            await self._call(commit)
        except BaseException as error:
            self._pool.group.end(error)
            raise
        self._pool.group.end()

    def _end_left_group(self) -> None:
        connection = self._pool.left_over()
        if connection is not None:
            last = PooledConnection(self._backend)
            last._pool, last._held = self._pool, connection
            self._pool.run_to_end(last._commit_and_release())

    async def _commit_and_release(self) -> None:
        try:
            with suppress(driver.Error):  # the waiting tasks get the error
                await self._commit()
        finally:
            await self.release()

    async def fetch_all(self, query: ClauseElement) -> list[Row]:  # type: ignore[override]
        """Return all rows."""
        return (await self._run_query(query))[0]

    async def _run_query(self, query: ClauseElement) -> StatementResult:
        found = self.run_at_once(query)
        if found is not None:
            return found
        sql, arguments, columns = self._backend.compile(query)
        named, rows, count = await self._call(lambda raw: _run(raw, sql, arguments, columns))
        return rows_of(rows, named), count

    def run_at_once(self, query: ClauseElement) -> StatementResult | None:
        """Run a short prepared statement of a transaction on this thread, except a reader's first.

        No other process can make the statement wait, and a switch to a thread and back costs more
        than the statement. A reader's first statement opens its view of the database, which can
        wait.
        """
        if not isinstance(query, BoundStatement) or query.statement.long:
            return None
        if self._held is None or not (self._views or self._writes):
            return None
        sql, arguments, columns = self._backend.compile(query)
        try:
            named, rows, count = _run(self._held._conn, sql, arguments, columns)
        except driver.DatabaseError as error:
            self._check_damage(error)
            raise
        return rows_of(rows, named), count

    async def fetch_each(self, queries: Sequence[ClauseElement]) -> list[list[Row]]:
        """Return all rows of each of several queries, in one turn of the connection's thread."""
        compiled = [self._backend.compile(query) for query in queries]

        def fetch(raw: driver.Connection) -> list[tuple[Any, list[Any]]]:
            found = []
            for sql, arguments, _ in compiled:
                cursor = raw.execute(sql, arguments)
                found.append((cursor.description, cursor.fetchall()))
                cursor.close()
            return found

        return [
            rows_of(rows, columns or _column_names(described))
            for (described, rows), (_, _, columns) in zip(
                await self._call(fetch), compiled, strict=True
            )
        ]

    async def execute(self, query: ClauseElement) -> int:
        """Run a statement; return the number of affected rows."""
        return (await self._run_query(query))[1]

    async def execute_many(self, queries: list[ClauseElement]) -> None:
        """Run statements of one shape together."""
        compiled = [self._backend.compile(query)[:2] for query in queries]

        def execute(raw: driver.Connection) -> None:
            for sql, arguments in compiled:
                raw.execute(sql, arguments).close()

        await self._call(execute)

    async def undo(self, *statements: str) -> None:
        """Run the statements that undo a transaction, unless the transaction is already over.

        The check runs on the connection's thread: here, it would block the event loop until a
        statement that is still running there ends.
        """
        group = self._pool.group
        joined = group.is_open and statements == ("ROLLBACK",)

        def undo(raw: driver.Connection) -> bool:
            for statement in (LEAVE if joined else statements) if raw.in_transaction else ():
                raw.execute(statement).close()
            return raw.in_transaction

        open_still = await self._call(undo)
        if joined and open_still:
            await self.run("COMMIT")
        elif joined:
            group.end(driver.OperationalError(ROLLED_BACK))

    @property
    def raw_connection(self) -> Any:
        """Return the connection of the SQLite library."""
        return self._held

    @property
    def _writes(self) -> bool:
        return self._held is not None and self._pool is self._backend.writers

    async def _call(self, work: Callable[[driver.Connection], T], *, inline: bool = False) -> T:
        """Run on the connection's thread, or `inline`, which blocks the event loop."""
        if self._held is None:
            self._pool = self._backend.readers
            self._held = await self._pool.take()
        connection = self._held
        self._abandoned = False
        try:
            if inline:
                return work(connection._conn)
            result: T = await connection._execute(  # type: ignore[no-untyped-call]
                lambda: work(connection._conn)
            )
            self._views = connection.in_transaction
        except asyncio.CancelledError:
            self._abandoned = True
            interrupt(connection)  # otherwise it would continue in its thread
            raise
        except driver.DatabaseError as error:
            self._check_damage(error)
            raise
        return result

    def _check_damage(self, error: driver.DatabaseError) -> None:
        """Request a check of the pages if a statement failed because of damage."""
        if driver.is_damage(error):
            self._backend.watch.doubt()
            raise driver.UnsoundDatabase(str(error)) from error


def _run(
    raw: driver.Connection, sql: str, arguments: Sequence[Any], columns: Columns | None
) -> tuple[Columns, list[Any], int]:
    cursor = raw.execute(sql, arguments)
    rows = cursor.fetchall()
    columns, count = columns or _column_names(cursor.description), cursor.rowcount
    cursor.close()
    return columns, rows, count


def _column_names(described: Sequence[Sequence[Any]] | None) -> Columns:
    return tuple(str(column[0]) for column in described or ()), ()
