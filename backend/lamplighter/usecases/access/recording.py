"""The recording of acts: each act of an operator has a number in the journal, used to undo it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from lamplighter.domain.memory.intents import ChangeOrigin
from lamplighter.repository import Database, writing
from lamplighter.repository.access import journal
from lamplighter.repository.access.journal import OPERATOR as OPERATOR

recorded: Final[ContextVar[int | None]] = ContextVar("recorded", default=None)
"""The last act recorded on behalf of this task, which an interface returns to its client."""

unfinished: Final[ContextVar[int | None]] = ContextVar("unfinished", default=None)
"""The act that this task carries out in several transactions: the completed ones remain."""


@dataclass(slots=True)
class Recording:
    """An act in progress: its number, how many rows it changed, and its memory."""

    id: int
    changed: int = 0
    memory_id: int | None = None

    def did(self, memory_id: int | None = None, *, rows: int = 1) -> None:
        """Count changed rows; an act without changed rows is withdrawn."""
        self.changed += rows
        self.memory_id = memory_id

    def why(self, cause: str, reason: str = "", *, review_id: int | None = None) -> ChangeOrigin:
        """Return the origin that the history records for a change of this act."""
        return ChangeOrigin(
            cause=cause, actor=OPERATOR, reason=reason, review_id=review_id, act_id=self.id
        )


async def record_act(
    db: Database, action: str, subject: str, *, now: datetime, rows: int = 1, **about: Any
) -> None:
    """Record an act that cannot be undone, in the transaction of its changes."""
    number = await journal.insert(db, action, now=now, subject=subject, **about)
    await journal.finish(db, number, rows)


@asynccontextmanager
async def recording(
    db: Database, action: str, *, now: datetime, **about: Any
) -> AsyncIterator[Recording]:
    """Run an act in one transaction and record it there; an act without changes is withdrawn."""
    async with writing(db):
        act = Recording(await journal.insert(db, action, now=now, **about))
        yield act
        if act.changed:
            await journal.finish(db, act.id, act.changed, memory_id=act.memory_id)
            recorded.set(act.id)
        else:
            await journal.withdraw(db, act.id)
