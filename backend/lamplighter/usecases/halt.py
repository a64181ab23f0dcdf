"""Halt: stop everything at once, in one of three ways, and let it go on again.

A button and a command make a row of the database; a file in the home works
without one. Whichever of them was pulled, everything stands still until it is
released: the file counts as long as it is there, whatever the rows say.
"""

import os
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from lamplighter.domain.errors import Conflict
from lamplighter.domain.event import Level
from lamplighter.domain.halt import FILE_PULLED, MAX_REASON_CHARS, Halt, Way, release_words
from lamplighter.domain.notice import Kind
from lamplighter.domain.redact import Redactor
from lamplighter.domain.text import one_line, shortened
from lamplighter.repository import Database, events, halts, reading, writing
from lamplighter.usecases import notify

REASON_BYTES: Final = 4_096
REMOVED: Final = "whoever removed it"


@dataclass(frozen=True, slots=True)
class Brake:
    """What can halt everything: the file of the home, and a row of the database."""

    file: Path | None = None
    redact: Redactor = field(default_factory=Redactor)

    def by_file(self) -> Halt | None:
        """Return the halt that the file stands for; what cannot be looked at halts too."""
        if self.file is None:
            return None
        try:
            at = datetime.fromtimestamp(self.file.lstat().st_mtime, UTC)
        except FileNotFoundError:
            return None
        except OSError as error:
            now = datetime.fromtimestamp(time.time(), UTC)
            return _of_file(f"{self.file} cannot be looked at: {error.strerror}", now)
        return _of_file(self._reason(), at)

    async def pulled(self, db: Database) -> Halt | None:
        """Return what halts everything now; the file needs no database to do so."""
        return self.by_file() or await halts.standing(db)

    async def all(self, db: Database) -> list[Halt]:
        """Return each halt that stands: all of them have to be released."""
        row = await halts.standing(db)
        return [halt for halt in (self.by_file(), row) if halt]

    def release(self, halt: Halt) -> str:
        """Say what releases a halt."""
        return release_words(halt.way, str(self.file or ""))

    def _reason(self) -> str:
        assert self.file is not None
        try:
            with open(self.file, "rb", opener=_at_once) as file:
                text = (file.read(REASON_BYTES) or b"").decode("utf-8", "replace")
        except OSError:
            return ""
        return checked(text, self.redact)


def _at_once(path: str, flags: int) -> int:
    """Open a file of our own home: no link, and nothing that lets whoever opens it wait."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)


def checked(reason: str, redact: Redactor) -> str:
    """Return a reason as it is kept: one line, not of any length, without secrets."""
    return shortened(one_line(redact(reason)), MAX_REASON_CHARS)


async def pull(db: Database, reason: str, *, by: str, redact: Redactor, now: datetime) -> Halt:
    """Halt everything; what stands still already keeps its reason."""
    async with writing(db):
        held = await halts.standing(db)
        if held is not None:
            return held
        halt = await halts.insert(
            db, Way.ROW, reason=checked(reason, redact), by=one_line(by), now=now
        )
        await _told(db, halt, now=now)
        return halt


async def release(db: Database, brake: Brake, *, by: str, now: datetime) -> None:
    """Let everything go on; raises Conflict while the file still halts it."""
    async with writing(db):
        file = brake.by_file()
        for way in (Way.ROW, Way.FILE):
            held = await halts.standing(db, way)
            if held is not None and not (way is Way.FILE and file):
                await _release(db, held, by=one_line(by), now=now)
    if file is not None:
        raise Conflict(f"Everything is still halted. {file.words} {brake.release(file)}")


async def note_file(db: Database, brake: Brake, *, now: datetime) -> None:
    """Keep that the file came or went, so that everyone hears of it, once.

    Whether it halts anything is not asked here, but of the file itself.
    """
    found = brake.by_file()
    async with reading(db):
        held = await halts.standing(db, Way.FILE)
    if (found is None) == (held is None):
        return
    async with writing(db):
        held = await halts.standing(db, Way.FILE)
        if found is not None and held is None:
            await halts.insert(db, Way.FILE, reason=found.reason, by=found.pulled_by, now=now)
            await _told(db, found, now=now)
        elif found is None and held is not None:
            await _release(db, held, by=REMOVED, now=now)


async def _told(db: Database, halt: Halt, *, now: datetime) -> None:
    text = f"Everything is halted. {halt.words}"
    await notify.tell(db, Kind.HALT, Level.CRITICAL, text, now=now)  # before its event is told
    await _event(db, Level.CRITICAL, text, now=now)


async def _release(db: Database, held: Halt, *, by: str, now: datetime) -> None:
    await halts.release(db, held.id, by=by, now=now)
    other = await halts.standing(db, Way.ROW)
    text = f"The halt by {held.pulled_by} was released by {by}."
    more = f" Another one stands: {other.words}" if other else ""
    await _event(db, Level.WARNING, f"{text}{more}", now=now)


async def _event(db: Database, level: Level, text: str, *, now: datetime) -> None:
    await events.insert(db, level, text, source="operator", now=now)


def _of_file(reason: str, at: datetime) -> Halt:
    return Halt(way=Way.FILE, reason=reason, pulled_by=FILE_PULLED, pulled_at=at)
