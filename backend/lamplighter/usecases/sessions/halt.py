"""Halt: stop everything at once, in one of three ways, and resume.

A person's file in the home works without a database, and is in effect as long as the file exists,
whatever the rows say. A button and a command write that file first, with their name in it, because
the database may be busy; the halt is stored as a row as soon as possible, and the file is then
removed.
"""

import asyncio
import logging
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from lamplighter.domain.actions.halt import Halt, HaltSource, release_hint
from lamplighter.domain.errors import Conflict
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.notice import NoticeKind
from lamplighter.domain.text import one_line
from lamplighter.formats.upkeep.halt_file import HaltFile, check_reason
from lamplighter.repository import Database, reading, writing
from lamplighter.repository.services import events
from lamplighter.repository.sessions import halts
from lamplighter.repository.store.driver import OperationalError
from lamplighter.usecases.access.recording import record_act
from lamplighter.usecases.services import notify

logger = logging.getLogger(__name__)

RETRY_SECONDS: Final = 0.5
REMOVED: Final = "the deletion of the file"


@dataclass(frozen=True, slots=True)
class HaltControl(HaltFile):
    """The two places of a halt: the file in the home, and a row of the database."""

    async def pulled(self, db: Database) -> Halt | None:
        """Return the active halt, if any; for the file no database is needed."""
        return self.by_file() or await halts.get_active(db)

    async def all(self, db: Database) -> list[Halt]:
        """Return each active halt: all of them must be released."""
        row, file = await halts.get_active(db), self.by_file()
        if row is not None and file is not None and file.way is HaltSource.ROW:
            return [row]
        return [halt for halt in (file, row) if halt]

    def release(self, halt: Halt) -> str:
        """Return how to release a halt."""
        return release_hint(halt.way, str(self.file or ""))


async def halt_all(
    db: Database, halt_control: HaltControl, reason: str, *, by: str, now: datetime
) -> Halt | None:
    """Halt everything: with the file at once, and with a row; an existing halt stays.

    Raises OperationalError if the database cannot be used: the halt of the file is in effect.
    """
    try:
        halt_control.write(reason, by=by, now=now)
    except OSError as error:
        logger.warning("Could not write %s: %s", halt_control.file, error)
    if halt_control.by_request() is not None:
        return await sync_file(db, halt_control, now=now)
    async with writing(db):
        held = await halts.get_active(db)
        return held or await _insert(
            db, check_reason(reason, halt_control.redact), by=one_line(by), at=now, now=now
        )


async def sync_file(db: Database, halt_control: HaltControl, *, now: datetime) -> Halt | None:
    """Store a halt in the file of a button or a command as a row; return the active halt."""
    async with writing(db):
        file = halt_control.by_request()
        if file is None:
            return await halts.get_active(db)
        row = await _insert_from_file(db, file, now=now)
    halt_control.remove(file)
    return row


async def sync_file_patiently(db: Database, halt_control: HaltControl, *, now: datetime) -> None:
    """Store the halt of that file as a row, however long the database is busy."""
    while halt_control.by_request() is not None:
        try:
            await sync_file(db, halt_control, now=now)
        except OperationalError as error:
            logger.warning("The halt is in effect but not stored yet: %s", error)
            await asyncio.sleep(RETRY_SECONDS)


async def resume_all(db: Database, halt_control: HaltControl, *, by: str, now: datetime) -> None:
    """Resume everything; raises Conflict while the file still halts it."""
    async with writing(db):
        requested = halt_control.by_request()
        if requested is not None:
            await _insert_from_file(db, requested, now=now)
            halt_control.remove(requested)
        file = halt_control.by_file()
        for way in (HaltSource.ROW, HaltSource.FILE):
            held = await halts.get_active(db, way)
            if held is not None and not (way is HaltSource.FILE and file):
                await _release_halt(db, held, by=one_line(by), now=now)
    if file is not None:
        raise Conflict(
            f"Lamplighter is still halted. {file.description} {halt_control.release(file)}"
        )


async def record_file(db: Database, halt_control: HaltControl, *, now: datetime) -> None:
    """Record once that the file was created or removed, to notify people.

    Whether the halt is in effect depends on the file itself, not on this record.
    """
    if halt_control.by_request() is not None:
        await sync_file(db, halt_control, now=now)
    file_halt = halt_control.by_file()
    async with reading(db):
        stored = await halts.get_active(db, HaltSource.FILE)
    if (file_halt is None) == (stored is None):
        return
    async with writing(db):
        stored = await halts.get_active(db, HaltSource.FILE)
        if file_halt is not None and stored is None:
            await halts.insert(
                db, HaltSource.FILE, reason=file_halt.reason, by=file_halt.pulled_by, now=now
            )
            await _announce(db, file_halt, now=now)
        elif file_halt is None and stored is not None:
            await _release_halt(db, stored, by=REMOVED, now=now)


async def _insert_from_file(db: Database, file: Halt, *, now: datetime) -> Halt:
    held = await halts.get_active(db)
    return held or await _insert(db, file.reason, by=file.pulled_by, at=file.pulled_at, now=now)


async def _insert(db: Database, reason: str, *, by: str, at: datetime, now: datetime) -> Halt:
    halt = await halts.insert(db, HaltSource.ROW, reason=reason, by=by, now=at)
    await _announce(db, halt, now=now)
    return halt


async def _announce(db: Database, halt: Halt, *, now: datetime) -> None:
    await record_act(db, "halt", halt.reason, actor=halt.pulled_by, now=now)
    text = f"Lamplighter is halted. {halt.description}"
    await notify.enqueue(
        db, NoticeKind.HALT, Level.CRITICAL, text, now=now
    )  # before the notice of its event
    await events.insert(db, Level.CRITICAL, text, source="operator", now=now)


async def _release_halt(db: Database, halt: Halt, *, by: str, now: datetime) -> None:
    await halts.release(db, halt.id, by=by, now=now)
    other = await halts.get_active(db, HaltSource.ROW)
    await record_act(db, "resume", halt.reason, actor=by, now=now)
    text = f"Resumed by {by}; the halt by {halt.pulled_by} is over."
    more = f" Another halt remains: {other.description}" if other else ""
    await events.insert(db, Level.WARNING, f"{text}{more}", source="operator", now=now)
