"""A pooled, cancellation-safe PostgreSQL backend for `databases`.

It follows the rules of the SQLite backend: one writer at a time, in this process and among all
others, a few readers that cannot write, and errors of the same names. A decision that reads and
then writes is as safe as on SQLite, and the numbers of changes are in the order of their commits.
"""

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import cache
from typing import Any, Final

import asyncpg
from databases import DatabaseURL
from databases.interfaces import DatabaseBackend
from sqlalchemy.dialects.postgresql import asyncpg as words
from sqlalchemy.sql import ClauseElement

from lamplighter.repository.store import driver
from lamplighter.repository.store.database import RowConnection
from lamplighter.repository.store.statements import Compiler, Row, rows_of

READERS: Final = 4
ACQUIRE_SECONDS: Final = 30.0
CONNECT_SECONDS: Final = 10.0
COMMAND_SECONDS: Final = 60.0
STATEMENTS_CACHED: Final = 500
APPLICATION: Final = "lamplighter"
LOCK_NAMESPACE: Final = 0x4C414D50  # "LAMP": the first half of our advisory lock IDs
WRITER, MIGRATOR, LEADER, EMBEDDER = 1, 2, 3, 4

BEGIN_WRITE: Final = f"BEGIN READ WRITE; SELECT pg_advisory_xact_lock({LOCK_NAMESPACE}, {WRITER})"
COMMIT: Final = "COMMIT"
END_STUCK_WRITER: Final = (
    "SELECT pg_terminate_backend(a.pid) FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid"
    " WHERE l.locktype = 'advisory' AND l.granted AND a.datname = current_database()"
    " AND l.classid = $1 AND l.objid = $2"
    " AND a.state = 'active' AND a.wait_event IN ('ClientRead', 'ClientWrite')"
    " AND a.query_start < clock_timestamp() - interval '10 s'"
)
"""Ends a writer that stopped between two messages of one statement, or before it read a result.

The server considers the writer active: neither the limit for idle transactions nor the limit for
statements ends it.
"""
BEGIN_READ: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
SETTINGS: Final = {
    "default_transaction_read_only": "on",  # writers override it within `writing(db)`
    "lock_timeout": "5s",
    "statement_timeout": "30s",
    "idle_in_transaction_session_timeout": "10s",  # a suspended writer must not block others
    "timezone": "UTC",
    "jit": "off",  # queries are short: compiling or parallel workers would take longer
    "max_parallel_workers_per_gather": "0",
}
COMPILER: Final = Compiler(words.dialect())  # type: ignore[no-untyped-call]
"""Compiles each statement once per process, for all databases that the process opens."""
OWN_SETTINGS: Final = {
    "default_transaction_read_only": "off",
    "statement_timeout": "0",
    "lock_timeout": "0",
    "timezone": "UTC",
}
"""Settings of a single connection: limits of its user or its database do not apply to it."""

CONNECTION_ERRORS: Final = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
)
DISCONNECT_ERRORS: Final = (asyncpg.PostgresConnectionError, asyncpg.OperatorInterventionError)
"""Errors after which the server closes the connection."""
LOST_ERRORS: Final = (
    *DISCONNECT_ERRORS,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
)
"""Errors of a statement whose connection is lost."""
CANCELED_ERROR: Final = asyncpg.QueryCanceledError
"""A statement timeout: the only error of those after which the connection stays open."""

NUL, REPLACEMENT = "\0", "\ufffd"


class PostgresPool:
    """Connections of one kind. A connection in doubt is never used again."""

    def __init__(self, dsn: str, size: int) -> None:
        self._dsn = dsn
        self._free: asyncio.LifoQueue[asyncpg.Connection | None] = asyncio.LifoQueue()
        self._all: set[asyncpg.Connection] = set()
        for _ in range(size):
            self._free.put_nowait(None)

    async def take(self) -> asyncpg.Connection:
        """Wait for a free connection; a lost connection is replaced."""
        async with asyncio.timeout(ACQUIRE_SECONDS):
            held = await self._free.get()
        if held is not None and not held.is_closed():
            return held
        self._all.discard(held)
        try:
            made = await asyncpg.connect(
                self._dsn,
                timeout=CONNECT_SECONDS,
                command_timeout=COMMAND_SECONDS,
                statement_cache_size=STATEMENTS_CACHED,
                server_settings={"application_name": application_name(), **SETTINGS},
            )
        except BaseException:
            self._free.put_nowait(None)
            raise
        self._all.add(made)
        return made

    def give_back(self, connection: asyncpg.Connection, *, doubtful: bool) -> None:
        """Return a connection without waiting.

        A connection that is abandoned, failed, or within a transaction is terminated: the server
        rolls back what was not committed.
        """
        if doubtful or connection.is_closed() or connection.is_in_transaction():
            connection.terminate()
            self._all.discard(connection)
            self._free.put_nowait(None)
        else:
            self._free.put_nowait(connection)

    def close(self) -> None:
        """Terminate all connections, including those in use."""
        for held in self._all:
            held.terminate()
        self._all.clear()


class PostgresBackend(DatabaseBackend):
    """The writer and the readers of one PostgreSQL database."""

    def __init__(self, database_url: DatabaseURL | str, **_: Any) -> None:
        dsn = address(str(database_url))
        self.compile = COMPILER
        self.writers = PostgresPool(dsn, 1)
        self.readers = PostgresPool(dsn, READERS)

    async def connect(self) -> None:
        """Open a connection of each kind: a wrong address must fail at the start."""
        try:
            for pool in (self.writers, self.readers):
                async with translate_errors():
                    pool.give_back(await pool.take(), doubtful=False)
        except BaseException:
            await self.disconnect()
            raise

    async def disconnect(self) -> None:
        """Close every connection, including those in use."""
        self.readers.close()
        self.writers.close()

    async def ended_stuck_writer(self) -> bool:
        """End the stuck writer of another process; return whether there was one."""
        connection = PostgresConnection(self)
        try:
            async with connection._using() as raw:
                return bool(await raw.fetch(END_STUCK_WRITER, LOCK_NAMESPACE, WRITER))
        finally:
            await connection.release()

    def connection(self) -> "PostgresConnection":
        """Return a task's connection, which takes a pooled connection at its first use."""
        return PostgresConnection(self)


class PostgresConnection(RowConnection):
    """The connection of one task to a PostgreSQL database."""

    def __init__(self, backend: PostgresBackend) -> None:
        self._backend = backend
        self._held: asyncpg.Connection | None = None
        self._pool = backend.readers
        self._doubtful = False

    async def release(self) -> None:
        """Return the connection to its pool. Never waits: a cancellation cannot interrupt it."""
        held, self._held = self._held, None
        if held is not None:
            self._pool.give_back(held, doubtful=self._doubtful)

    async def begin(self, *, readonly: bool, short: bool = False) -> None:
        """Begin; the writer waits for the writers of other processes."""
        self._pool = self._backend.readers if readonly else self._backend.writers
        try:
            await self.run(BEGIN_READ if readonly else BEGIN_WRITE)
        except driver.OperationalError as error:
            waited = isinstance(error.__cause__, asyncpg.LockNotAvailableError)
            if not waited or not await self._backend.ended_stuck_writer():
                raise
            await self.run("ROLLBACK")
            await self.run(BEGIN_WRITE)

    async def run(self, statement: str) -> None:
        """Run a statement that has neither arguments nor rows.

        Raises UnconfirmedCommit if the answer to the COMMIT of a writer is lost.
        """
        sent = False
        try:
            async with self._using() as raw:
                sent = not raw.is_closed()
                status = await raw.execute(statement)
        except driver.OperationalError as error:
            writes = self._pool is self._backend.writers
            if statement == COMMIT and writes and sent and self._doubtful:
                raise driver.UnconfirmedCommit(str(error)) from error.__cause__
            raise
        if statement == COMMIT and status != COMMIT:  # PostgreSQL reports this without an error
            raise driver.OperationalError("a statement failed, and the transaction was rolled back")

    @asynccontextmanager
    async def _using(self) -> AsyncIterator[asyncpg.Connection]:
        """Use the connection; any failure before an answer arrived leaves it in doubt."""
        async with translate_errors():
            if self._held is None:
                self._held, self._doubtful = await self._pool.take(), False
            try:
                yield self._held
            except BaseException as error:
                answered = isinstance(error, asyncpg.PostgresError) and not (
                    isinstance(error, DISCONNECT_ERRORS) and not isinstance(error, CANCELED_ERROR)
                )
                self._doubtful = self._doubtful or not answered
                raise

    async def fetch_all(self, query: ClauseElement) -> list[Row]:  # type: ignore[override]
        """Return all rows."""
        sql, arguments, columns = self._backend.compile(query)
        async with self._using() as raw:
            rows = await raw.fetch(sql, *_without_nul(arguments))
        if columns is None:
            columns = tuple(rows[0].keys()) if rows else (), ()
        return rows_of(rows, columns)

    async def execute(self, query: ClauseElement) -> int:
        """Run a statement; return the number of affected rows."""
        sql, arguments, _ = self._backend.compile(query)
        async with self._using() as raw:
            status = await raw.execute(sql, *_without_nul(arguments))
        return count(status)

    async def execute_many(self, queries: list[ClauseElement]) -> None:
        """Run statements of one shape together."""
        compiled = [self._backend.compile(query)[:2] for query in queries]
        async with self._using() as raw:
            for sql in dict.fromkeys(sql for sql, _ in compiled):
                await raw.executemany(
                    sql, [_without_nul(given) for each, given in compiled if each == sql]
                )

    async def undo(self, *statements: str) -> None:
        """Run the statements that undo a transaction; if the connection is in doubt, do nothing."""
        held = self._held
        if held is None or self._doubtful or held.is_closed() or not held.is_in_transaction():
            return
        for statement in statements:
            await self.run(statement)

    @property
    def raw_connection(self) -> Any:
        """Return the connection of the PostgreSQL library."""
        return self._held


def address(url: str) -> str:
    """Return an address in the form that the PostgreSQL library takes."""
    scheme, colon, rest = url.partition(":")
    return f"{scheme.partition('+')[0]}{colon}{rest}"


async def connect(url: str, **settings: str) -> asyncpg.Connection:
    """Open one connection that may write. Raises OperationalError."""
    async with translate_errors():
        return await asyncpg.connect(
            address(url),
            timeout=CONNECT_SECONDS,
            command_timeout=COMMAND_SECONDS,
            server_settings={"application_name": application_name(), **OWN_SETTINGS, **settings},
        )


@asynccontextmanager
async def connected(url: str, **settings: str) -> AsyncIterator[asyncpg.Connection]:
    """Open one connection for the statements within this context. Raises OperationalError."""
    connection = await connect(url, **settings)
    try:
        async with translate_errors():
            yield connection
    finally:
        await connection.close()


def application_name() -> str:
    """Return the name that all connections of this process share, and no other process has."""
    return _application_name(os.getpid())


@cache
def _application_name(pid: int) -> str:
    return f"{APPLICATION} {pid} {secrets.token_hex(4)}"  # another machine may have the same PID


@asynccontextmanager
async def translate_errors() -> AsyncIterator[None]:
    """Raise the errors of the PostgreSQL library under the names that both databases share."""
    try:
        yield
    except asyncpg.IntegrityConstraintViolationError as error:
        raise driver.IntegrityError(str(error)) from error
    except asyncpg.DataError:
        raise  # a value of the wrong type is our own error
    except CONNECTION_ERRORS as error:
        raise driver.OperationalError(_error_text(error)) from error


def _without_nul(arguments: Sequence[Any]) -> list[Any]:
    """Replace NUL in texts, because PostgreSQL refuses it."""
    return [
        value.replace(NUL, REPLACEMENT) if isinstance(value, str) and NUL in value else value
        for value in arguments
    ]


def count(status: str) -> int:
    """Return the number of rows in a command's answer: `UPDATE 3`, `INSERT 0 1`."""
    last = status.rpartition(" ")[2]
    return int(last) if last.isdecimal() else 0


def _error_text(error: BaseException) -> str:
    cause = error.__context__
    if isinstance(error, asyncpg.InterfaceError) and isinstance(cause, CONNECTION_ERRORS):
        return _error_text(cause)  # the end of a transaction whose connection was lost
    if isinstance(error, TimeoutError):
        return "the database did not answer in time"
    line = str(error).partition("\n")[0].rstrip(".")  # without the hints of the server
    return line or type(error).__name__
