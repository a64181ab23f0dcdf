"""The SQLite library in use; all other modules import `sqlite3` from here.

The SQLite of many systems has a bug that can damage a WAL file used by several processes (fixed in
3.51.3). `pysqlite3` bundles a fixed version on machines that have a wheel. Its exceptions are not
those of the standard library, which requires one common module.
"""

import logging
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

if TYPE_CHECKING:
    import sqlite3
else:
    try:
        import pysqlite3 as sqlite3
    except ImportError:  # no wheel for this platform
        import sqlite3

FIXED: Final = (3, 51, 3)
PRAGMAS: Final = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=NORMAL",
    "PRAGMA foreign_keys=ON",
    "PRAGMA temp_store=MEMORY",
    "PRAGMA cache_size=-8192",
    "PRAGMA wal_autocheckpoint=2000",  # otherwise a bulk write would wait for the disk repeatedly
    "PRAGMA journal_size_limit=16777216",  # truncates a log that has grown
)

Error = sqlite3.Error
OperationalError = sqlite3.OperationalError
IntegrityError = sqlite3.IntegrityError
DatabaseError = sqlite3.DatabaseError
Connection = sqlite3.Connection
Row = sqlite3.Row
TEMPORARY: Final = ("08", "53", "55P03", "57")
"""The error codes of a PostgreSQL server that has no connection, memory or space left, that is
starting or stopping, or that waits for a lock; those of two characters are classes."""
SERVER_DISK_FULL: Final = "53100"
IN_MEMORY: Final = ":memory:"
READ_OR_WRITE_FAILED: Final = 10
"""SQLITE_IOERR, also for a full disk where the index of the log could not be created."""
DAMAGE: Final = (11, 26)
"""SQLITE_CORRUPT and SQLITE_NOTADB."""


class UnconfirmedCommit(OperationalError):
    """A server was lost after the COMMIT was sent: it may have committed the transaction."""


class UnsoundDatabase(OperationalError):
    """The database file is damaged, or no longer the file that was opened."""


class UnreadableSchema(DatabaseError):
    """SQLite quotes a damaged part of the schema that is not UTF-8, so its message is lost."""

    sqlite_errorcode = DAMAGE[0]


def version() -> tuple[int, ...]:
    """Return the version of the SQLite library in use."""
    return tuple(int(part) for part in sqlite3.sqlite_version.split("."))


def safe_for_several_processes() -> bool:
    """Whether this SQLite has the fix for several processes on one WAL file."""
    return version() >= FIXED


BUSY_SECONDS: Final = 5.0


def connect(
    path: str, *, readonly: bool = False, busy_seconds: float = BUSY_SECONDS, create: bool = False
) -> sqlite3.Connection:
    """Open a connection without implicit transactions and with our PRAGMAs.

    A missing file is created only with `create`: a new empty file would hide that the database is
    gone.
    """
    mode = "rwc" if create else "rw"
    connection = sqlite3.connect(
        path if path == IN_MEMORY else f"file:{quote(path)}?mode={mode}",
        uri=path != IN_MEMORY,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=512,
        timeout=busy_seconds,
    )
    try:
        for pragma in PRAGMAS:
            connection.execute(pragma)
        if readonly:
            connection.execute("PRAGMA query_only=ON")
    except sqlite3.Error:
        connection.close()
        raise
    except UnicodeDecodeError as error:
        connection.close()
        raise UnreadableSchema("malformed database schema") from error
    return connection


def disable_busy_wait(connection: sqlite3.Connection) -> None:
    """Make a connection report a busy database at once, because the caller retries itself."""
    connection.execute("PRAGMA busy_timeout=0")


def is_busy(error: BaseException) -> bool:
    """Whether a statement failed because another process is writing."""
    return "database is locked" in str(error)


def disk_is_full(error: BaseException) -> bool:
    """Whether a statement failed because the disk is full; its transaction is rolled back."""
    return "is full" in str(error) or is_server_limit(error, (SERVER_DISK_FULL,))


def is_damage(error: BaseException) -> bool:
    """Whether a statement failed because the file is malformed or not a database."""
    return _code(error) in DAMAGE


def is_temporary(error: BaseException) -> bool:
    """Whether a database is unusable for a reason that ends by itself, or by freeing space."""
    cause = error.__cause__
    server = isinstance(cause, OSError) or is_server_limit(error, TEMPORARY)
    failed = disk_is_full(error) or _code(error) == READ_OR_WRITE_FAILED
    return server or failed or "is locked" in str(error)


def is_server_limit(error: BaseException, codes: tuple[str, ...] = ("53",)) -> bool:
    """Whether a PostgreSQL server has no connection, memory or space left."""
    return str(getattr(error.__cause__, "sqlstate", "")).startswith(codes)


def _code(error: BaseException) -> int:
    """Return the primary result code of SQLite; 0 for other errors."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def severity(error: BaseException) -> int:
    """Return the level to log a failed statement at; an unsound file is reported elsewhere."""
    return logging.DEBUG if isinstance(error, UnsoundDatabase) else logging.WARNING
