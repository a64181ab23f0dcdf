"""Counts over the rows, for who watches this installation: each is one statement."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.cooldown import SPENT
from lamplighter.domain.memory import InactiveReason
from lamplighter.domain.notice import NoticeState
from lamplighter.repository import (
    approvals,
    changes,
    halts,
    leases,
    statistics,
    vitals,
)
from lamplighter.repository.database import Database
from lamplighter.repository.tables import (
    cooldowns,
    embeddings,
    memories,
    prompts,
    retellings,
    sessions,
)
from lamplighter.repository.tables_search import unindexed
from lamplighter.repository.tables_work import notices

DAY: Final = timedelta(hours=24)
LEADS: Final = "running", "idle"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """How things stand; keys are label values, all of them from words that we know."""

    memories: Mapping[tuple[str, ...], int]
    sessions: Mapping[tuple[str, ...], int]
    dollars: float
    uses: Mapping[tuple[str, ...], int]
    told: int
    reviews: int
    approvals: int
    requests: int
    outbox: int
    unindexed: int
    without_vector: int
    bytes: int
    changes: int
    heartbeat_age: float | None
    leads: bool
    halted: bool


async def figures(db: Database, *, now: datetime) -> Figures:
    """Count everything; part of a `reading`."""
    leader = await leases.get(db)
    return Figures(
        memories=await _memories(db),
        sessions=await _grouped(db, sa.select(sessions.c.tier, sessions.c.status), sessions),
        dollars=float(await db.fetch_val(sa.select(sa.func.sum(sessions.c.cost_usd))) or 0.0),
        uses=await _uses(db, since=now - DAY),
        told=await _many(db, prompts) + await _many(db, retellings),
        reviews=(await statistics.open_reviews(db))[0],
        approvals=(await approvals.waiting(db, now=now))[0],
        requests=await statistics.queued(db),
        outbox=await _outbox(db),
        unindexed=await _many(db, unindexed),
        without_vector=await _without_vector(db),
        bytes=await vitals.size(db),
        changes=await changes.last(db),
        heartbeat_age=None if leader is None else (now - leader.heartbeat_at).total_seconds(),
        leads=leader is not None and leader.state(now=now) in LEADS,
        halted=await halts.any_standing(db),
    )


async def _memories(db: Database) -> dict[tuple[str, ...], int]:
    reason = sa.func.coalesce(memories.c.inactive_reason, InactiveReason.LOW.value)
    state = sa.case((memories.c.active == 1, "active"), else_=reason)
    return await _grouped(db, sa.select(memories.c.category, state), memories)


async def _grouped(
    db: Database, query: sa.Select[Any], table: sa.Table
) -> dict[tuple[str, ...], int]:
    keys = [each.label(f"key{at}") for at, each in enumerate(query.selected_columns)]
    counted = sa.select(*keys, sa.func.count().label("count")).select_from(table)
    rows = await db.fetch_all(counted.group_by(*keys).order_by(*keys))
    return {tuple(str(row[key.name]) for key in keys): int(row["count"]) for row in rows}


async def _uses(db: Database, *, since: datetime) -> dict[tuple[str, ...], int]:
    query = (
        sa.select(cooldowns.c.action, sa.func.count().label("count"))
        .where(cooldowns.c.created_at >= since)
        .where(cooldowns.c.outcome.in_(SPENT))
        .group_by(cooldowns.c.action)
        .order_by(cooldowns.c.action)
    )
    return {(str(row["action"]),): int(row["count"]) for row in await db.fetch_all(query)}


async def _outbox(db: Database) -> int:
    left = (NoticeState.WAITING, NoticeState.SENDING)
    query = sa.select(sa.func.count()).select_from(notices).where(notices.c.state.in_(left))
    return int(await db.fetch_val(query))


async def _without_vector(db: Database) -> int:
    known = sa.exists().where(embeddings.c.memory_id == memories.c.id)
    query = sa.select(sa.func.count()).select_from(memories).where(~known)
    return int(await db.fetch_val(query))


async def _many(db: Database, table: sa.Table) -> int:
    return int(await db.fetch_val(sa.select(sa.func.count()).select_from(table)))
