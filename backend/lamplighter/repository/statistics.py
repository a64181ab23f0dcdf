"""Counts over many rows, for what is seen at one glance."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from lamplighter.domain.event import Level
from lamplighter.domain.memory import Memory, MemoryId
from lamplighter.domain.session import RequestState
from lamplighter.repository import memories as memory_rows
from lamplighter.repository.database import Database
from lamplighter.repository.tables import events, history, requests, sessions

LEARNED: Final = "learned"
REINFORCED: Final = "reinforced"
WEAKENED: Final = "contradicted"
FADED: Final = "faded"
CAUSES: Final = (LEARNED, REINFORCED, WEAKENED, FADED)


@dataclass(frozen=True, slots=True)
class Ran:
    """How many sessions began, by tier, and what they cost; None when that is not known."""

    by_tier: Mapping[int, int]
    cost_usd: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One change of a memory's confidence, and the memory as it is now."""

    cause: str
    at: datetime
    reason: str
    before: float | None
    after: float | None
    memory: Memory


async def levels(db: Database, *, since: datetime) -> dict[Level, int]:
    """Return how many events of each level there were."""
    query = (
        sa.select(events.c.level, sa.func.count().label("count"))
        .where(events.c.created_at >= since)
        .group_by(events.c.level)
    )
    found = {row["level"]: row["count"] for row in await db.fetch_all(query)}
    return {level: found.get(level, 0) for level in Level}


async def ran(db: Database, *, since: datetime) -> Ran:
    """Return what ran since a moment."""
    query = (
        sa.select(
            sessions.c.tier,
            sa.func.count().label("count"),
            sa.func.count(sessions.c.cost_usd).label("known"),
            sa.func.sum(sessions.c.cost_usd).label("cost"),
        )
        .where(sessions.c.started_at >= since)
        .group_by(sessions.c.tier)
    )
    rows = await db.fetch_all(query)
    known = sum(row["known"] for row in rows)
    cost = round(sum(row["cost"] or 0.0 for row in rows), 6) if known else None
    return Ran({row["tier"]: row["count"] for row in rows}, cost)


async def queued(db: Database) -> int:
    """Return how many requests wait."""
    query = (
        sa.select(sa.func.count())
        .select_from(requests)
        .where(requests.c.state == RequestState.QUEUED)
    )
    return int(await db.fetch_val(query))


async def causes(db: Database, *, since: datetime) -> dict[str, int]:
    """Return how often memories were learned, reinforced, contradicted and faded."""
    query = (
        sa.select(history.c.cause, sa.func.count().label("count"))
        .where(history.c.at >= since)
        .where(history.c.cause.in_(CAUSES))
        .group_by(history.c.cause)
    )
    found = {row["cause"]: row["count"] for row in await db.fetch_all(query)}
    return {cause: found.get(cause, 0) for cause in CAUSES}


async def turns(db: Database, *, since: datetime, limit: int) -> list[Turn]:
    """Return the last changes of memories that sessions brought about, newest first."""
    query = (
        sa.select(history)
        .where(history.c.at >= since)
        .where(history.c.cause.in_(CAUSES))
        .order_by(history.c.id.desc())
        .limit(limit)
    )
    found: list[Turn] = []
    for row in await db.fetch_all(query):
        memory = await memory_rows.get(db, MemoryId(row["memory_id"]))
        if memory is not None:  # a deleted one has no row any more
            turn = Turn(
                cause=row["cause"],
                at=row["at"],
                reason=row["reason"],
                before=_confidence(row["before"]),
                after=_confidence(row["after"]),
                memory=memory,
            )
            found.append(turn)
    return found


def _confidence(state: Mapping[str, float] | None) -> float | None:
    return None if state is None else state.get("confidence")
