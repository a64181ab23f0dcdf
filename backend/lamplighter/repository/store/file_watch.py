"""A watch on the file of an open SQLite database: it must exist, be the same, and be sound.

SQLite itself notices none of this: a process keeps writing to a file that was deleted or replaced,
and reads its cache of a damaged file. Therefore the files are compared with the opened files before
each commit and every second, and their pages are checked from time to time. An open file that has
lost its name is copied to a new file.
"""

import asyncio
import logging
import os
import shutil
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lamplighter.repository.store import driver

logger = logging.getLogger(__name__)

POLL_SECONDS: Final = 1.0
CHECK_SECONDS: Final = 3.0
"""The shortest interval between two checks of the pages."""
ROUTINE_CHECK_SECONDS: Final = 600.0
"""The longest interval, for a disk that changes bytes but not the time of the file."""
SHARE: Final = 50
"""A check takes at most one part in this many of the time."""
URGENT_SHARE: Final = 5
"""The same for an urgent check: after a foreign change, or a statement that found damage."""
CHECKPOINT_SECONDS: Final = 0.3
"""How long a checkpoint's pages are in the file before the log shows it, on a fast disk."""
LONGEST_CHECKPOINT_SECONDS: Final = 10.0
"""The same on a slow disk: each change that only seemed to be foreign doubles the patience."""
LOG_HEADER: Final = 32
FRAME_HEADER: Final = 24
LOG_STATE: Final = "PRAGMA wal_checkpoint(NOOP)"
LOG_STATE_SINCE: Final = (3, 51)
"""Older versions of SQLite would run a checkpoint instead of reporting the last one's progress."""
BUSY_SECONDS: Final = 2.0
SPARE_BYTES: Final = 64 * 2**20
PARTS: Final = ("", "-wal", "-shm")
RESCUED: Final = "rescued-"

Identity = tuple[int, int]


class FileWatch:
    """Compares a database file with the opened file; `problem` describes what is wrong."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._paths = [f"{path}{part}" for part in PARTS]
        self.problem = ""
        self._files: list[Identity | None] = [None] * len(PARTS)
        self._held: driver.Connection | None = None
        self._checking: driver.Connection | None = None
        self._rescued = ""
        self._damage = ""
        self._doubted, self._urgent, self._met, self._cleared = True, False, False, False
        self._size = self._changed = self._page_size = 0
        self._log: LogState | None = None
        self._checked = self._next_check = self._took = 0.0
        self._foreign, self._patience = False, CHECKPOINT_SECONDS

    def open(self) -> None:
        """Record which file is opened, and hold it open.

        The log and its index are recorded once they are held too: until then, another process that
        closes the last connection removes them.
        """
        self._files[0] = self._identities()[0]
        self._held = driver.connect(str(self.path), readonly=True)
        self._held.execute("PRAGMA schema_version").fetchone()
        (self._page_size,) = self._held.execute("PRAGMA page_size").fetchone()
        self._files[1:] = self._identities()[1:]
        self._note_changes()
        self._checked = time.monotonic()

    def opened(self) -> None:
        """Verify that every connection since `open` is to the same file."""
        if self._identities()[0] != self._files[0]:
            raise driver.UnsoundDatabase(f"{self.path} was replaced while Lamplighter opened it")

    def close(self) -> None:
        """Release the file."""
        _interrupt(self._checking)
        _interrupt(self._held)
        if self._held is not None:
            self._held.close()
            self._held = None

    def guard(self) -> None:
        """Verify that a commit now will be durable; raises UnsoundDatabase."""
        if self._held is None:
            return
        found = self._moved()
        if found or self._damage:
            raise driver.UnsoundDatabase(
                self.problem or f"{found or self._damage} Nothing was written."
            )

    def doubt(self) -> None:
        """Request a check of the pages at once: a statement found them malformed.

        If that check finds the rows intact, as with a damaged search index, no further check runs
        at once until the file changes.
        """
        self._doubted = True
        self._met = self._met or not (self._cleared or self._damage)

    @asynccontextmanager
    async def followed(self) -> AsyncIterator[None]:
        """Check the file every second while this context is open."""
        task = asyncio.create_task(self._follow())
        try:
            yield
        finally:
            task.cancel()
            _interrupt(self._checking)
            with suppress(asyncio.CancelledError):
                await task

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(POLL_SECONDS)
            try:
                if not self._quiet():
                    await asyncio.to_thread(self.look)
            except Exception:
                logger.exception("Could not check the database file; retrying.")

    def _quiet(self) -> bool:
        """Whether nothing changed since the last check, and nothing is due: a thread costs more."""
        if self.problem or self._doubted or self._overdue() or self._identities() != self._files:
            return False
        found = self.path.stat()
        unchanged = (found.st_mtime_ns, found.st_size) == (self._changed, self._size)
        return unchanged and (self._log is None or self._log.written == self._written())

    def look(self) -> None:
        """Compare the files, and check the pages if a check is due."""
        problem = self._moved()
        if problem:
            if not self._rescued:
                self._rescued = self._rescue()
            problem = f"{problem} Writes are stopped. {self._rescued}"
        else:
            self._rescued = ""
            if self._due():
                self._check()
            if self._is_log_cut():
                self._damage = self._damaged("its write-ahead log was truncated")
            if self._damage:
                problem = f"{self._damage} Writes are stopped. {REPAIR}"
        if problem != self.problem:
            logger.error("%s", problem or f"{self.path} is intact again.")
        self.problem = problem

    def _identities(self) -> list[Identity | None]:
        return [_identity(path) for path in self._paths]

    def _moved(self) -> str:
        """Describe a deletion or replacement of the files; the log is created a little later."""
        for at, (part, now) in enumerate(zip(PARTS, self._identities(), strict=True)):
            if self._files[at] is None:
                self._files[at] = now
            elif now != self._files[at]:
                what = "was deleted or moved" if now is None else "was replaced by another file"
                return f"The database file {self.path}{part} {what} while it was in use."
        return ""

    def _due(self) -> bool:
        """Whether to check the pages: if the file changed, and occasionally without a change."""
        before, size = self._log, self._size
        changed = self._note_changes()
        self._doubted = self._doubted or changed or self._overdue()
        if changed:
            self._cleared = False
            self._foreign = self._foreign or self._is_foreign(before)
            self._urgent = self._urgent or self._foreign or self._size < size
        urgent = self._urgent or self._met
        earliest = self._checked + URGENT_SHARE * self._took if urgent else self._next_check
        return self._doubted and time.monotonic() >= earliest

    def _note_changes(self) -> bool:
        """Record the state of the files; return whether the time of the database file changed."""
        self._log = self._log_state()  # first: a checkpoint in between then only looks too new
        before, found = self._changed, self.path.stat()
        self._changed, self._size = found.st_mtime_ns, found.st_size
        return before != self._changed

    def _is_foreign(self, before: "LogState | None") -> bool:
        """Whether the file changed without a checkpoint, which alone writes to it in SQLite."""
        until = time.monotonic() + self._patience
        while before and self._log and not self._log.is_copied_since(before):
            if time.monotonic() >= until:
                return True
            time.sleep(min(CHECKPOINT_SECONDS, self._patience))
            self._note_changes()
        return False

    def _log_state(self) -> "LogState | None":
        """Return how much of the log is copied to the file, if this SQLite can report it."""
        if self._held is None or driver.version() < LOG_STATE_SINCE:
            return None
        written, begun = self._written(), self._begun()
        try:
            _, frames, copied = self._held.execute(LOG_STATE).fetchone()
        except driver.Error:
            return None
        after = self._written()  # the counted frames are in the file by now
        return LogState(frames, copied, written, begun, after[1] if after else 0)

    def _begun(self) -> bytes:
        """Return the header of the log, which changes when the log restarts after a checkpoint."""
        try:  # SQLite holds no lock on this file: closing it here releases none
            with open(self._paths[1], "rb", buffering=0) as log:
                return log.read(LOG_HEADER)
        except OSError:
            return b""

    def _written(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self._paths[1])
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size

    def _overdue(self) -> bool:
        return time.monotonic() - self._checked > ROUTINE_CHECK_SECONDS

    def _check(self) -> None:
        began, self._doubted = time.monotonic(), False
        damage: str | None = None
        try:
            if not self._size:  # opening an empty file would create a new database
                raise driver.DatabaseError("it is empty")
            with closing(driver.connect(str(self.path), busy_seconds=BUSY_SECONDS)) as connection:
                self._checking = connection
                damage = _damage(connection)
        except driver.OperationalError as error:
            logger.info("Could not check the pages of the database: %s", error)
            self._doubted = True
        except driver.DatabaseError as error:
            damage = str(error)
        finally:
            self._checking = None
        if damage and not self._damage:
            self._touch()
        if damage is not None:  # otherwise the previous result remains valid
            self._damage = damage and self._damaged(damage)
        self._checked = time.monotonic()
        self._took = self._checked - began
        self._next_check = self._checked + max(CHECK_SECONDS, SHARE * self._took)
        if not self._doubted:
            self._cleared = self._cleared or (self._met and not damage)
            if self._foreign and not damage:
                self._patience = min(2 * self._patience, LONGEST_CHECKPOINT_SECONDS)
            self._urgent = self._foreign = self._met = False

    def _is_log_cut(self) -> bool:
        """Whether the log lacks frames that SQLite still reads and will copy to the file."""
        if not (self._log and self._log.is_shorter_than(self._page_size)):
            return False
        time.sleep(CHECKPOINT_SECONDS)  # a log that restarted meanwhile only looked cut
        self._note_changes()
        return self._log is not None and self._log.is_shorter_than(self._page_size)

    def _damaged(self, damage: str) -> str:
        return f"The database file {self.path} is damaged ({damage})."

    def _touch(self) -> None:
        """Make the other processes check the file too: this looks like a foreign change to them."""
        with suppress(OSError):
            os.utime(self.path)
            self._changed = self.path.stat().st_mtime_ns

    def _rescue(self) -> str:
        """Copy the open database to a new file; describe where it is, or why copying failed."""
        identity = self._files[0]
        target = self.path.with_name(f"{RESCUED}{self.path.stem}-{identity and identity[1]}.db")
        part = target.with_suffix(f".{os.getpid()}.part")
        try:
            if not target.exists():
                self._copy(part)
                part.replace(target)
        except (driver.Error, OSError) as error:
            part.unlink(missing_ok=True)
            return (
                f"The file could not be copied: {error}. Do not stop Lamplighter before the copy "
                f"succeeds."
            )
        return (
            f"A copy with all data is at {target}. Stop Lamplighter, move that file to "
            f"{self.path}, and start Lamplighter."
        )

    def _copy(self, target: Path) -> None:
        assert self._held is not None
        pages, size = (
            self._held.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "page_size")
        )
        if shutil.disk_usage(target.parent).free < pages * size + SPARE_BYTES:
            raise OSError(f"{target.parent} needs {pages * size / 2**20:,.0f} MB of free space")
        target.touch(0o600)
        with closing(driver.connect(str(target), create=True)) as copy:
            self._held.backup(copy)
            damage = _damage(copy)
        if damage:
            raise OSError(damage)


@dataclass(frozen=True, slots=True)
class LogState:
    """The log at one moment: its frames, the frames copied to the file, its time and size.

    `begun` is its header, `size` the size of its file right after the frames were counted.
    """

    frames: int
    copied: int
    written: tuple[int, int] | None
    begun: bytes
    size: int

    def is_copied_since(self, before: "LogState") -> bool:
        """Whether a checkpoint wrote to the file since `before`. A restarted log may hide this."""
        began_again = self.frames < before.frames or self.begun != before.begun
        if self.copied != before.copied or began_again:
            return True
        return self.frames == before.frames and self.written != before.written

    def is_shorter_than(self, page_size: int) -> bool:
        """Whether the file of the log is too short for its frames."""
        needed = LOG_HEADER + self.frames * (FRAME_HEADER + page_size)
        return self.frames > self.copied and self.size < needed


REPAIR: Final = (
    "Stop Lamplighter and restore a backup. Without a backup, recover the readable rows: "
    "`sqlite3 lamplighter.db .recover | sqlite3 recovered.db` (docs/how-to/backup.md)."
)


def _interrupt(connection: driver.Connection | None) -> None:
    """Interrupt the reads of a connection; the reading thread may just have closed it."""
    if connection is not None:
        with suppress(driver.Error, ValueError):
            connection.interrupt()


def rescued(path: Path) -> list[Path]:
    """Return the rescued copies of a database file, the newest first."""
    found = path.parent.glob(f"{RESCUED}{path.stem}-*.db")
    return sorted(found, key=lambda each: each.stat().st_mtime, reverse=True)


def _damage(connection: driver.Connection) -> str:
    """Return the first damage of the pages; the search index is rebuilt elsewhere."""
    from lamplighter.repository.store.index_schema import is_of_index  # late: not needed per query

    connection.text_factory = lambda text: text.decode("utf-8", "replace")  # of a damaged name
    found = (str(row[0]) for row in connection.execute("PRAGMA quick_check(20)"))
    first = next((each for each in found if not is_of_index(each)), "ok")
    return "" if first == "ok" else " ".join(first.split())


def _identity(path: str) -> Identity | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
