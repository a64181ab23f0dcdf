"""A pooled, cancellation-safe PostgreSQL backend for `databases`.

It keeps the rules of the one for SQLite: one writer at a time, in this process
and among all others, a few readers that cannot write, and errors by the same
names. So a decision that reads and then writes is as safe here as there, and
the numbers of changes are in the order of their commits.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import asyncpg
from databases import DatabaseURL
from databases.interfaces import DatabaseBackend
from sqlalchemy.dialects.postgresql import asyncpg as words
from sqlalchemy.sql import ClauseElement

from lamplighter.repository import driver
from lamplighter.repository.connection import RowConnection, to_the_end
from lamplighter.repository.statements import Compiler, Row, rows_of

READERS: Final = 4
ACQUIRE_SECONDS: Final = 30.0
CONNECT_SECONDS: Final = 10.0
COMMAND_SECONDS: Final = 60.0
OURS: Final = 0x4C414D50  # "LAMP": the first half of our advisory locks' names
WRITER, MIGRATOR, LEADER = 1, 2, 3

WRITE: Final = f"BEGIN READ WRITE; SELECT pg_advisory_xact_lock({OURS}, {WRITER})"
LOOK: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
SETTINGS: Final = {
    "application_name": "lamplighter",
    "default_transaction_read_only": "on",  # whoever writes does so within `writing(db)`
    "lock_timeout": "5s",
    "statement_timeout": "30s",
    "idle_in_transaction_session_timeout": "60s",  # a writer that was stopped lets others go on
    "timezone": "UTC",
}
NUL, REPLACEMENT = "\0", "\ufffd"


class PostgresBackend(DatabaseBackend):
    """The writer and the readers of one PostgreSQL database."""

    def __init__(self, database_url: DatabaseURL | str, **_: Any) -> None:
        self._address = address(str(database_url))
        self.compile = Compiler(words.dialect())  # type: ignore[no-untyped-call]
        self._writers: asyncpg.Pool | None = None
        self._readers: asyncpg.Pool | None = None

    async def connect(self) -> None:
        """Open the first connection of each kind, so that a wrong address fails at the start."""
        try:
            async with our_errors():
                self._writers = await _pool(self._address, 1)
                self._readers = await _pool(self._address, READERS)
        except BaseException:
            await self.disconnect()
            raise

    async def disconnect(self) -> None:
        """Close every connection, those in use too."""
        for pool in (self._readers, self._writers):
            if pool is not None:
                pool.terminate()

    def connection(self) -> "PostgresConnection":
        """Return a task's connection; it takes a real one when it first needs it."""
        return PostgresConnection(self)

    @asynccontextmanager
    async def taken(self, connection: "PostgresConnection") -> AsyncIterator[asyncpg.Connection]:
        """Give a task's connection, taking a reader for one that has none yet."""
        async with our_errors():
            if connection.raw_connection is None:
                await connection.take(self.pool(readonly=True))
            yield connection.raw_connection

    def pool(self, *, readonly: bool) -> asyncpg.Pool:
        """Return the connections that read, or the one that writes."""
        pool = self._readers if readonly else self._writers
        assert pool is not None, "the database is not connected"
        return pool


class PostgresConnection(RowConnection):
    """What one task has taken of a PostgreSQL database."""

    def __init__(self, backend: PostgresBackend) -> None:
        self._backend = backend
        self._held: asyncpg.Connection | None = None
        self._pool: asyncpg.Pool | None = None

    async def take(self, pool: asyncpg.Pool) -> None:
        """Wait for a free connection of a pool, and keep it until it is released."""
        self._held, self._pool = await pool.acquire(timeout=ACQUIRE_SECONDS), pool

    async def release(self) -> None:
        """Give back what was taken; what is left of a transaction is rolled back."""
        held, self._held = self._held, None
        if held is not None and self._pool is not None:
            async with our_errors():
                await to_the_end(self._pool.release(held))

    async def begin(self, *, readonly: bool) -> None:
        """Begin; the writer waits here for the writers of other processes."""
        async with our_errors():
            await self.take(self._backend.pool(readonly=readonly))
            assert self._held is not None
            await self._held.execute(LOOK if readonly else WRITE)

    async def run(self, statement: str) -> None:
        """Run a statement that has neither arguments nor rows."""
        async with self._backend.taken(self) as raw:
            await raw.execute(statement)

    async def fetch_all(self, query: ClauseElement) -> list[Row]:  # type: ignore[override]
        """Return all rows."""
        sql, arguments, columns = self._backend.compile(query)
        async with self._backend.taken(self) as raw:
            rows = await raw.fetch(sql, *_kept(arguments))
        if columns is None:
            columns = tuple(rows[0].keys()) if rows else (), ()
        return rows_of(rows, columns)

    async def execute(self, query: ClauseElement) -> int:
        """Run a statement; returns how many rows it touched."""
        sql, arguments, _ = self._backend.compile(query)
        async with self._backend.taken(self) as raw:
            status = await raw.execute(sql, *_kept(arguments))
        return _count(status)

    async def execute_many(self, queries: list[ClauseElement]) -> None:
        """Run statements of one shape in one go."""
        compiled = [self._backend.compile(query)[:2] for query in queries]
        async with self._backend.taken(self) as raw:
            for sql in dict.fromkeys(sql for sql, _ in compiled):
                await raw.executemany(
                    sql, [_kept(given) for each, given in compiled if each == sql]
                )

    @property
    def in_transaction(self) -> bool:
        """Whether the server still has the transaction that was begun."""
        held = self._held
        return held is not None and not held.is_closed() and bool(held.is_in_transaction())

    @property
    def raw_connection(self) -> Any:
        """Return the connection of the PostgreSQL library."""
        return self._held


def address(url: str) -> str:
    """Return an address as the PostgreSQL library takes it."""
    scheme, colon, rest = url.partition(":")
    return f"{scheme.partition('+')[0]}{colon}{rest}"


async def connect(url: str, **settings: str) -> asyncpg.Connection:
    """Open one connection that may write. Raises OperationalError."""
    async with our_errors():
        return await asyncpg.connect(
            address(url),
            timeout=CONNECT_SECONDS,
            command_timeout=COMMAND_SECONDS,
            server_settings={"application_name": "lamplighter", **settings},
        )


@asynccontextmanager
async def our_errors() -> AsyncIterator[None]:
    """Raise what the PostgreSQL library raises by the names that both databases share."""
    try:
        yield
    except asyncpg.IntegrityConstraintViolationError as error:
        raise driver.IntegrityError(str(error)) from error
    except asyncpg.DataError:
        raise  # a value of the wrong type is a mistake of ours
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
        raise driver.OperationalError(_in_words(error)) from error


async def _pool(dsn: str, size: int) -> asyncpg.Pool:
    pool = await asyncpg.create_pool(
        dsn,
        min_size=0,  # it would log each vain try to keep more, while the server is away
        max_size=size,
        timeout=CONNECT_SECONDS,
        command_timeout=COMMAND_SECONDS,
        statement_cache_size=500,
        server_settings=SETTINGS,
        reset=_nothing_to_reset,
    )
    await pool.release(await pool.acquire())  # a wrong address fails now
    return pool


async def _nothing_to_reset(_: asyncpg.Connection) -> None:
    """Save the round trip: we leave no setting behind, and the pool ends open transactions."""


def _kept(arguments: Sequence[Any]) -> list[Any]:
    """Return values as PostgreSQL can hold them: it refuses text with a NUL."""
    return [
        value.replace(NUL, REPLACEMENT) if isinstance(value, str) and NUL in value else value
        for value in arguments
    ]


def _count(status: str) -> int:
    """Return the number of rows that a command's answer tells of: `UPDATE 3`, `INSERT 0 1`."""
    last = status.rpartition(" ")[2]
    return int(last) if last.isdecimal() else 0


def _in_words(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "the database did not answer in time"
    return str(error) or type(error).__name__
