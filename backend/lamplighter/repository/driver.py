"""Which SQLite library we use; everything else imports `sqlite3` from here.

The SQLite of many systems has a bug that can damage a WAL file used by several
processes (fixed in 3.51.3). `pysqlite3` bundles a fixed one where it has a
wheel. Its exceptions are not those of the standard library, hence one place.
"""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import sqlite3
else:
    try:
        import pysqlite3 as sqlite3
    except ImportError:  # no wheel for this machine
        import sqlite3

FIXED: Final = (3, 51, 3)
PRAGMAS: Final = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=NORMAL",
    "PRAGMA foreign_keys=ON",
    "PRAGMA temp_store=MEMORY",
    "PRAGMA cache_size=-8192",
    "PRAGMA wal_autocheckpoint=2000",  # many rows at once would else wait for the disk all the time
    "PRAGMA journal_size_limit=16777216",  # a log that once grew is cut back
)

Error = sqlite3.Error
OperationalError = sqlite3.OperationalError
IntegrityError = sqlite3.IntegrityError
DatabaseError = sqlite3.DatabaseError
Connection = sqlite3.Connection
Row = sqlite3.Row


def version() -> tuple[int, ...]:
    """Return the version of the SQLite library in use."""
    return tuple(int(part) for part in sqlite3.sqlite_version.split("."))


def safe_for_several_processes() -> bool:
    """Whether this SQLite has the fix for several processes on one WAL file."""
    return version() >= FIXED


def connect(path: str, *, readonly: bool = False, busy_seconds: float = 5.0) -> sqlite3.Connection:
    """Open a connection without implicit transactions and with our PRAGMAs."""
    connection = sqlite3.connect(
        path,
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
    return connection


def disk_is_full(error: BaseException) -> bool:
    """Whether a statement failed because there is no space left; its transaction is undone."""
    return "is full" in str(error)
