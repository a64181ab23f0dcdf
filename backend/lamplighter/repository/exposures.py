"""What each session was told: the exact text, and why each memory was in or out of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.context import Placement
from lamplighter.domain.memory import MemoryId
from lamplighter.domain.service import fold
from lamplighter.repository.database import Database
from lamplighter.repository.tables import exposures, memories, prompts

_OWN: Final = ("id", "session_id", "retelling")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What a session was given: the tier's prompt, what was injected, the request's words."""

    system: str
    injected: str
    message: str
    tokens: int
    budget: int


NO_PROMPT: Final = Prompt(system="", injected="", message="", tokens=0, budget=0)
"""What a client was given at the beginning of its session: that is its own business."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure:
    """One memory in or out of a session's prompt; `position` None is out."""

    memory_id: int
    version: int
    position: int | None
    why: str
    line: str


async def insert(
    db: Database, session_id: int, prompt: Prompt, placements: Sequence[Placement]
) -> None:
    """Keep what a session is told at its beginning."""
    await db.execute(
        sa.insert(prompts).values(
            session_id=session_id,
            system=prompt.system,
            injected=prompt.injected,
            message=prompt.message,
            tokens=prompt.tokens,
            budget=prompt.budget,
        )
    )
    await _expose(db, session_id, placements, retelling=None)


async def expose_more(
    db: Database, session_id: int, placements: Sequence[Placement], *, retelling: int
) -> None:
    """Keep which further memories a session was told while it ran."""
    before = await told_of(db, session_id, [each.memory.id for each in placements])
    fresh = [each for each in placements if each.included and each.memory.id not in before]
    await _expose(db, session_id, fresh, retelling=retelling)


async def prompt(db: Database, session_id: int) -> Prompt | None:
    """Return what a session was given."""
    row = await db.fetch_one(sa.select(prompts).where(prompts.c.session_id == session_id))
    if row is None:
        return None
    return Prompt(**{name: row[name] for name in row if name != "session_id"})


async def of(db: Database, session_id: int) -> list[Exposure]:
    """Return the memories that were chosen among at a session's beginning, those told first."""
    query = (
        sa.select(exposures)
        .where(exposures.c.session_id == session_id)
        .where(exposures.c.retelling.is_(None))
        .order_by(exposures.c.position.is_(None), exposures.c.position, exposures.c.id)
    )
    return [_exposure(row) for row in await db.fetch_all(query)]


async def told(db: Database, memory_id: int, *, limit: int) -> list[int]:
    """Return the sessions that were told a memory, newest first."""
    query = (
        sa.select(exposures.c.session_id)
        .where(exposures.c.memory_id == memory_id)
        .where(exposures.c.position.is_not(None))
        .order_by(exposures.c.id.desc())
        .limit(limit)
    )
    return [row["session_id"] for row in await db.fetch_all(query)]


async def told_count(db: Database, memory_id: int) -> int:
    """Return how many sessions were told a memory."""
    query = (
        sa.select(sa.func.count())
        .select_from(exposures)
        .where(exposures.c.memory_id == memory_id)
        .where(exposures.c.position.is_not(None))
    )
    return int(await db.fetch_val(query))


async def told_of(db: Database, session_id: int, ids: Sequence[MemoryId]) -> set[MemoryId]:
    """Return which of these memories were told to a session."""
    query = (
        sa.select(exposures.c.memory_id)
        .where(exposures.c.session_id == session_id)
        .where(exposures.c.memory_id.in_(ids))
        .where(exposures.c.position.is_not(None))
    )
    return {MemoryId(row["memory_id"]) for row in await db.fetch_all(query)}


async def about(db: Database, session_id: int, service: str) -> list[int]:
    """Return the memories of a service that a session was told, in the order it was told them."""
    query = (
        sa.select(exposures.c.memory_id, memories.c.service)
        .join(memories, memories.c.id == exposures.c.memory_id)
        .where(exposures.c.session_id == session_id)
        .where(exposures.c.position.is_not(None))
        .where(memories.c.service.is_not(None))
        .order_by(exposures.c.position, exposures.c.id)
    )
    found = [(row["memory_id"], row["service"]) for row in await db.fetch_all(query)]
    return [number for number, name in found if fold(name) == fold(service)]


async def _expose(
    db: Database, session_id: int, placements: Sequence[Placement], *, retelling: int | None
) -> None:
    rows = [
        {
            "session_id": session_id,
            "memory_id": each.memory.id,
            "version": each.memory.version,
            "position": each.position,
            "why": each.why,
            "line": each.line if each.included else "",
            "retelling": retelling,
        }
        for each in placements
    ]
    if rows:
        await db.execute_many(sa.insert(exposures), rows)


def _exposure(row: Any) -> Exposure:
    return Exposure(**{name: row[name] for name in row if name not in _OWN})
