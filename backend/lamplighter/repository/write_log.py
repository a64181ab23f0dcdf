"""Keep SQLite's write-ahead log short beside readers that overlap."""

from contextlib import suppress
from pathlib import Path
from typing import Final

from lamplighter.repository import driver

LONGEST_BYTES: Final = 10 * 2**20  # SQLite's own checkpoints come at 8 MiB
AGAIN_BYTES: Final = 2**20
WAIT_MS: Final = 50


class WriteLog:
    """The log of one database file.

    SQLite begins its log anew when a write finds no reader in it. On a busy machine readers
    overlap, there is no such moment, and the log grows. A checkpoint that truncates copies all
    of it first: readers that begin meanwhile need no log, and only those that run are waited for.
    """

    def __init__(self, database: Path) -> None:
        self._path = Path(f"{database}-wal")
        self._limit = LONGEST_BYTES

    def shorten(self, connection: driver.Connection) -> None:
        """Truncate a log that is too long; call it on the writer's connection after a commit.

        It waits 50 ms at most. Where a reader runs longer, it tries again when the log has
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
        driver.impatient(connection)

    def _size(self) -> int:
        try:
            return self._path.stat().st_size
        except FileNotFoundError:
            return 0
