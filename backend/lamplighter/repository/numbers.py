"""The numbers of sessions: none is used twice, whatever becomes of the database."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.repository.database import Database
from lamplighter.repository.driver import OperationalError
from lamplighter.repository.tables import sessions

FILE: Final = "last-session"
_DIGITS: Final = 20
_SEQUENCES: Final = sa.table("sqlite_sequence", sa.column("name"), sa.column("seq"))


class HighWater:
    """The highest number that a session of a home had.

    It is in a file beside the session files: a database that is restored or lost does
    not set it back.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> int:
        """Return the highest number so far; 0 where there was none."""
        try:
            return int(self._path.read_text() or 0)
        except (FileNotFoundError, ValueError):
            return 0

    def note(self, number: int) -> None:
        """Keep a number, unless a higher one is kept already. Raises OperationalError."""
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
    """Insert a session under a number that none had before, and return its row.

    Call it within `writing`. The number is noted before the commit: one that is undone
    is skipped.
    """
    await follow(db, db.high_water.read() if db.high_water else 0)
    row = await db.fetch_one(sa.insert(sessions).values(**values).returning(sessions))
    assert row is not None
    if db.high_water:
        db.high_water.note(row["id"])
    return row


async def follow(db: Database, mark: int) -> None:
    """Let the next session have a number above `mark`.

    On PostgreSQL it is also the one after the last that is there: after a crash its
    sequence continues up to 32 numbers further.
    """
    if db.notifies:
        highest = sa.select(sa.func.coalesce(sa.func.max(sessions.c.id), 0)).scalar_subquery()
        last = sa.func.greatest(highest, sa.cast(mark, sa.BigInteger))
        sequence = sa.func.pg_get_serial_sequence("sessions", "id")
        await db.fetch_val(sa.select(sa.func.setval(sequence, sa.func.greatest(last, 1), last > 0)))
    elif mark:
        await _follow_in_sqlite(db, mark)


async def _follow_in_sqlite(db: Database, mark: int) -> None:
    ours = _SEQUENCES.c.name == sessions.name
    if await db.fetch_one(sa.select(_SEQUENCES.c.seq).where(ours)) is None:
        await db.execute(sa.insert(_SEQUENCES).values(name=sessions.name, seq=mark))
        return
    behind = _SEQUENCES.c.seq < mark
    await db.execute(sa.update(_SEQUENCES).where(ours).where(behind).values(seq=mark))
