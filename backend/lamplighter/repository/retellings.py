"""What sessions were told anew while they ran: the exact text, and why."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from lamplighter.domain.context import Placement
from lamplighter.repository import exposures
from lamplighter.repository.database import Database
from lamplighter.repository.tables import retellings


@dataclass(frozen=True, slots=True, kw_only=True)
class Retelling:
    """What a session was told in the place of what it was told before.

    `placements` say of each memory that was chosen among why it is in or out.
    """

    id: int
    session_id: int
    query: str
    injected: str
    tokens: int
    placements: tuple[dict[str, Any], ...]
    at: datetime


async def insert(
    db: Database,
    session_id: int,
    injected: str,
    placements: Sequence[Placement],
    *,
    query: str,
    tokens: int,
    now: datetime,
) -> Retelling:
    """Keep what a session is told now, and which memories it was not told before."""
    statement = (
        sa.insert(retellings)
        .values(
            session_id=session_id,
            query=query,
            injected=injected,
            tokens=tokens,
            placements=[_placed(each) for each in placements],
            at=now,
        )
        .returning(retellings)
    )
    found = _retelling(await db.fetch_one(statement))
    await exposures.expose_more(db, session_id, placements, retelling=found.id)
    return found


async def last(db: Database, session_id: int) -> Retelling | None:
    """Return what a session was told last; None when it was told nothing anew."""
    query = (
        sa.select(retellings)
        .where(retellings.c.session_id == session_id)
        .order_by(retellings.c.id.desc())
        .limit(1)
    )
    row = await db.fetch_one(query)
    return None if row is None else _retelling(row)


async def of(db: Database, session_id: int) -> list[Retelling]:
    """Return all that a session was told anew, oldest first."""
    query = (
        sa.select(retellings).where(retellings.c.session_id == session_id).order_by(retellings.c.id)
    )
    return [_retelling(row) for row in await db.fetch_all(query)]


def _placed(each: Placement) -> dict[str, Any]:
    return {
        "memory_id": each.memory.id,
        "version": each.memory.version,
        "position": each.position,
        "why": each.why,
    }


def _retelling(row: Any) -> Retelling:
    return Retelling(**{**row, "placements": tuple(row["placements"])})
