"""Recording: each act of an operator has a number in the journal, by which it can be undone."""

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
"""The last act that was recorded on behalf of this task: an interface names it to its client."""


@dataclass(slots=True)
class Recording:
    """An act while it is done: its number, how many rows it changed, and of which memory it is."""

    id: int
    changed: int = 0
    memory_id: int | None = None

    def did(self, memory_id: int | None = None, *, rows: int = 1) -> None:
        """Note that rows were changed; without one there was no act."""
        self.changed += rows
        self.memory_id = memory_id

    def why(self, cause: str, reason: str = "", *, review_id: int | None = None) -> ChangeOrigin:
        """Return what the history says of a change that is part of the act."""
        return ChangeOrigin(
            cause=cause, actor=OPERATOR, reason=reason, review_id=review_id, act_id=self.id
        )


async def record_act(
    db: Database, action: str, subject: str, *, now: datetime, rows: int = 1, **about: Any
) -> None:
    """Record an act that cannot be undone, in the transaction of what it did."""
    number = await journal.insert(db, action, now=now, subject=subject, **about)
    await journal.finish(db, number, rows)


@asynccontextmanager
async def recording(
    db: Database, action: str, *, now: datetime, **about: Any
) -> AsyncIterator[Recording]:
    """Do an act in one transaction, and record it there; an act that changes nothing is none."""
    async with writing(db):
        act = Recording(await journal.insert(db, action, now=now, **about))
        yield act
        if act.changed:
            await journal.finish(db, act.id, act.changed, memory_id=act.memory_id)
            recorded.set(act.id)
        else:
            await journal.withdraw(db, act.id)
