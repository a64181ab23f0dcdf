"""The figures of the memory's health, counted by the database."""

from datetime import datetime
from typing import Final

import sqlalchemy as sa

from lamplighter.domain.health.calibration import Evidence
from lamplighter.domain.health.figures import DriftCounts
from lamplighter.domain.memory.memory import OPERATIONAL, InactiveReason, MemoryKind, Trust
from lamplighter.domain.memory.review import Resolution, ReviewKind, ReviewState
from lamplighter.domain.organize.digest import COMPRESSED_AFTER
from lamplighter.domain.verify.verdict import VERIFIED, VerdictState
from lamplighter.repository.access.journal import OPERATOR
from lamplighter.repository.memory.history import CONTRADICTED, REINFORCED
from lamplighter.repository.memory.reviews import waiting_pages
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.dialect import JsonValue
from lamplighter.repository.store.statements import count_by, has_row
from lamplighter.repository.store.tables import (
    acts,
    exposures,
    history,
    memories,
    organizer_runs,
    reviews,
    verifications,
)
from lamplighter.repository.verify.verifications import is_due

_ACTIVE: Final = memories.c.active == 1
_CORRECTING: Final = (Resolution.KEEP_NEW, Resolution.MERGE)
_AGREEING: Final = (Resolution.KEEP_OLD, Resolution.BOTH, Resolution.DISMISS)
CONFIRMED: Final = "confirmed"
"""The cause in the history of a memory that a person confirmed."""
MAX_EVIDENCE: Final = 20_000
_AGREEING_CAUSES: Final = (REINFORCED, VERIFIED, CONFIRMED)
_BY_SOURCES: Final = (ReviewKind.FACT, ReviewKind.VERIFICATION)
"""Reviews of contradictions that have no entry in the history."""


async def count_memories(
    db: Database, *, now: datetime, unused_before: datetime, tested_before: datetime
) -> dict[str, int]:
    """Count memories by maintenance state, in one pass over all memories."""
    columns, outcome = memories.c, verifications.c
    active, raw = columns.active == 1, columns.distilled == 0
    knowledge = columns.category.not_in(OPERATIONAL)
    included = sa.exists().where(
        exposures.c.memory_id == columns.id, exposures.c.position.is_not(None)
    )
    conditions = {
        "active": active,
        "undistilled": sa.and_(active, knowledge, raw),
        "distilled": sa.and_(active, knowledge, ~raw),
        "replaced": sa.and_(
            ~active, knowledge, ~raw, columns.inactive_reason == InactiveReason.SUPERSEDED.value
        ),
        "stale": sa.and_(
            active, columns.updated_at < unused_before, columns.access_count == 0, ~included
        ),
        "episodes": sa.and_(  # same condition as `domain.organize.digest.is_old_episode`
            *(active, knowledge, columns.pinned == 0),
            raw | (columns.trust == Trust.UNVERIFIED.value),
            columns.kind == MemoryKind.EPISODIC.value,
            columns.created_at <= now - COMPRESSED_AFTER,
        ),
        "unverified": sa.and_(active, is_due(tested_before), outcome.marked_at.is_(None)),
        "marked": sa.and_(active, outcome.marked_at.is_not(None)),
        "verified": sa.and_(active, columns.verified_at.is_not(None)),
        "failed": sa.and_(active, outcome.state == VerdictState.FAILED.value),
    }
    counts = [sa.func.count(sa.case((each, 1))).label(name) for name, each in conditions.items()]
    joined = memories.outerjoin(verifications, outcome.memory_id == columns.id)
    row = await db.fetch_one(sa.select(*counts).select_from(joined))
    assert row is not None
    return {name: int(row[name]) for name in conditions}


async def has_memories(db: Database) -> bool:
    """Whether an active memory exists."""
    return await has_row(db, _ACTIVE)


async def count_drift(db: Database, *, start: datetime) -> DriftCounts:
    """Count disagreements and agreements with memories since `start`.

    A memory that a person corrected counts once, because an editor saves a line repeatedly.
    """
    corrected = _corrections(start).c.memory_id
    edited = await db.fetch_val(sa.select(sa.func.count(corrected.distinct())))
    causes = await count_by(
        db,
        history.c.cause,
        history.c.cause.in_((CONTRADICTED, *_AGREEING_CAUSES)),
        history.c.at >= start,
    )
    resolved = await count_by(
        db,
        reviews.c.resolution,
        reviews.c.state == ReviewState.RESOLVED.value,
        reviews.c.kind != ReviewKind.RELATIONSHIP.value,
        reviews.c.resolved_at >= start,
    )
    opened = await count_by(db, reviews.c.kind, reviews.c.created_at >= start)
    return DriftCounts(
        corrections=int(edited) + sum(resolved.get(each.value, 0) for each in _CORRECTING),
        contradictions=causes.get(CONTRADICTED, 0)
        + sum(opened.get(each.value, 0) for each in _BY_SOURCES),
        agreements=sum(causes.get(each, 0) for each in _AGREEING_CAUSES)
        + sum(resolved.get(each.value, 0) for each in _AGREEING),
    )


async def count_evidence(db: Database, *, start: datetime) -> list[Evidence]:
    """Count confirmations and contradictions of memories, by the previous confidence.

    Only the newest 20,000 are counted.
    """
    newest = (
        sa.select(history.c.before, history.c.cause)
        .where(history.c.cause.in_((CONTRADICTED, *_AGREEING_CAUSES)), history.c.at >= start)
        .order_by(history.c.id.desc())
        .limit(MAX_EVIDENCE)
        .subquery("newest")
    )
    before = JsonValue(newest.c.before, "confidence", sa.Double()).label("confidence")
    contradicted = sa.func.sum(sa.case((newest.c.cause == CONTRADICTED, 1), else_=0))
    query = sa.select(
        before, sa.func.count().label("count"), contradicted.label("contradicted")
    ).group_by(before)
    return [
        Evidence(row["confidence"], int(row["count"] - row["contradicted"]), row["contradicted"])
        for row in await db.fetch_all(query)
        if row["confidence"] is not None
    ]


async def list_drifting(db: Database, *, start: datetime, limit: int) -> list[int]:
    """Return active memories corrected, contradicted or reviewed since `start`, newest first."""
    contradicted = sa.select(history.c.memory_id, history.c.at).where(
        history.c.cause == CONTRADICTED, history.c.at >= start
    )
    edited = _corrections(start)
    sides = [
        sa.select(side.label("memory_id"), reviews.c.created_at.label("at")).where(
            reviews.c.created_at >= start, reviews.c.kind != ReviewKind.RELATIONSHIP.value
        )
        for side in (reviews.c.old_id, reviews.c.new_id)
    ]
    found = sa.union_all(contradicted, sa.select(edited.c.memory_id, edited.c.at), *sides)
    drifting = found.subquery("drifting")
    query = (
        sa.select(memories.c.id)
        .join(drifting, drifting.c.memory_id == memories.c.id)
        .where(_ACTIVE)
        .group_by(memories.c.id)
        .order_by(sa.func.max(drifting.c.at).desc(), memories.c.id)
        .limit(limit)
    )
    return [row["id"] for row in await db.fetch_all(query)]


async def count_reviews(db: Database, *, now: datetime) -> dict[str, int]:
    """Count the open reviews and pages to review, and the days since the oldest was opened."""
    query = sa.select(
        sa.func.count().label("count"), sa.func.min(reviews.c.created_at).label("oldest")
    ).where(reviews.c.state == ReviewState.OPEN.value)
    row = await db.fetch_one(query)
    assert row is not None
    pages, since = await waiting_pages(db)
    age = now - min(filter(None, (row["oldest"], since)), default=now)
    return {"reviews": int(row["count"]) + pages, "review_days": max(0, age.days)}


async def count_organized(db: Database, *, start: datetime) -> dict[str, int]:
    """Count the memories that the organizer's runs since `start` replaced and compressed.

    Undone runs do not count.
    """
    undone = sa.select(acts.c.undoes).where(
        acts.c.undoes == organizer_runs.c.act_id, acts.c.changed.is_not(None)
    )
    query = sa.select(organizer_runs.c.counts).where(
        organizer_runs.c.started_at >= start, ~undone.exists()
    )
    counts = [row["counts"] for row in await db.fetch_all(query)]
    return {
        "set_aside": sum(each.get("duplicates", 0) for each in counts),
        "compressed": sum(each.get("compressed", 0) for each in counts),
    }


def _corrections(start: datetime) -> sa.Subquery:
    """Select the edits of texts by people."""
    before, after = (
        JsonValue(side, "observation", sa.Text()) for side in (history.c.before, history.c.after)
    )
    return (
        sa.select(history.c.memory_id, history.c.at)
        .where(history.c.cause == "edited", history.c.at >= start)
        .where(history.c.actor == OPERATOR, before != after)
        .subquery("corrected")
    )
