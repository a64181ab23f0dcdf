"""Sources of a memory: reports, prompts that included it, and contradictions."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from lamplighter.domain.memory.memory import MemoryId
from lamplighter.domain.memory.review import Review
from lamplighter.repository.memory import reviews
from lamplighter.repository.memory.history import REPORT_CAUSES
from lamplighter.repository.memory.links import CONTRADICTS
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.tables import exposures, history, links, sessions
from lamplighter.repository.store.tables import reviews as reviews_table


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryReport:
    """A time that somebody said what a memory says; `before` None is where it began."""

    session_id: int | None
    tier: int
    at: datetime
    cause: str
    before: float | None
    after: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryInclusion:
    """A session that was told a memory, and at which place among all that it was told."""

    session_id: int
    tier: int
    at: datetime
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCounts:
    """How often a memory was said, by how many sessions, and how many were told it."""

    reports: int
    sessions: int
    inclusions: int


async def counts(db: Database, memory_id: MemoryId) -> SourceCounts:
    """Return how often a memory was said and told."""
    of_it = (history.c.memory_id == memory_id, history.c.cause.in_(REPORT_CAUSES))
    said = sa.select(sa.func.count()).select_from(history).where(*of_it)
    by = sa.select(sa.func.count(history.c.session_id.distinct())).where(*of_it)
    inclusions = (
        sa.select(sa.func.count()).select_from(exposures).where(*_inclusion_conditions(memory_id))
    )
    query = sa.select(
        said.scalar_subquery().label("reports"),
        by.scalar_subquery().label("sessions"),
        inclusions.scalar_subquery().label("inclusions"),
    )
    row = await db.fetch_one(query)
    assert row is not None
    return SourceCounts(**{name: int(row[name]) for name in row})


async def reports(db: Database, memory_id: MemoryId, *, limit: int) -> list[MemoryReport]:
    """Return by whom a memory was said, newest first."""
    query = (
        sa.select(
            *(history.c.session_id, history.c.at, history.c.cause),
            *(history.c.before, history.c.after),
            sa.func.coalesce(sessions.c.tier, 0).label("tier"),
        )
        .select_from(history.outerjoin(sessions, sessions.c.id == history.c.session_id))
        .where(history.c.memory_id == memory_id)
        .where(history.c.cause.in_(REPORT_CAUSES))
        .order_by(history.c.id.desc())
        .limit(limit)
    )
    return [_report(row) for row in await db.fetch_all(query)]


async def inclusions(db: Database, memory_id: MemoryId, *, limit: int) -> list[MemoryInclusion]:
    """Return which sessions were told a memory, newest first."""
    query = (
        sa.select(
            *(exposures.c.session_id, exposures.c.position),
            *(sessions.c.tier, sessions.c.started_at.label("at")),
        )
        .select_from(exposures.join(sessions, sessions.c.id == exposures.c.session_id))
        .where(*_inclusion_conditions(memory_id))
        .order_by(exposures.c.id.desc())
        .limit(limit)
    )
    return [
        MemoryInclusion(**{name: row[name] for name in row}) for row in await db.fetch_all(query)
    ]


async def contradicting(db: Database, memory_id: MemoryId, *, limit: int) -> list[MemoryId]:
    """Return which memories contradict a memory or are contradicted by it, newest first."""
    ways = [
        sa.select(table.c[its].label("other"), table.c.created_at.label("at")).where(
            table.c[own] == memory_id, *more
        )
        for table, own, its, more in (
            (links, "memory_id", "target_id", [links.c.what == CONTRADICTS]),
            (links, "target_id", "memory_id", [links.c.what == CONTRADICTS]),
            (reviews_table, "old_id", "new_id", []),
            (reviews_table, "new_id", "old_id", []),
        )
    ]
    both = sa.union_all(*ways).subquery("both")
    query = (
        sa.select(both.c.other)
        .group_by(both.c.other)
        .order_by(sa.func.max(both.c.at).desc(), both.c.other.desc())
        .limit(limit)
    )
    return [MemoryId(row["other"]) for row in await db.fetch_all(query)]


async def last_reviews(
    db: Database, memory_id: MemoryId, others: Sequence[MemoryId]
) -> dict[MemoryId, Review]:
    """Return the last review of a memory and each of some others."""
    found: dict[MemoryId, Review] = {}
    for review in await reviews.between(db, memory_id, others) if others else ():
        other = review.new_id if review.old_id == memory_id else review.old_id
        found[other] = review
    return found


def _inclusion_conditions(memory_id: MemoryId) -> tuple[sa.ColumnElement[bool], ...]:
    return (exposures.c.memory_id == memory_id, exposures.c.position.is_not(None))


def _report(row: Any) -> MemoryReport:
    before, after = (row[side] and row[side]["confidence"] for side in ("before", "after"))
    return MemoryReport(
        session_id=row["session_id"],
        tier=row["tier"],
        at=row["at"],
        cause=row["cause"],
        before=before,
        after=after,
    )
