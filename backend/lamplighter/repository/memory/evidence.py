"""Evidence for memories: one query per fact, for any number of memories.

For one memory also each report, each prompt that included it, and each contradiction.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.memory.intents import CONTRADICTED, CONTRADICTS, REINFORCED, REPORT_CAUSES
from lamplighter.domain.memory.memory import GENERAL, Memory, MemoryId
from lamplighter.domain.memory.review import Review
from lamplighter.formats.audit import (
    NAMED,
    AuditEvidence,
    AuditLink,
    AuditLinks,
    AuditOccurrence,
    AuditOutcome,
    AuditReview,
    AuditTally,
)
from lamplighter.repository.memory.memories import by_ids as memories_by_ids
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.dialect import NUMBER, Stamp, text_contains
from lamplighter.repository.store.statements import Key, Page, after
from lamplighter.repository.store.tables import (
    exposures,
    history,
    links,
    memories,
    reviews,
    sessions,
    verifications,
)

JoinedColumns = Sequence[tuple[sa.Table, sa.ColumnElement[Any]]]
OTHER_MEMORY: Final[JoinedColumns] = [
    (memories, memories.c.observation),
    (memories, memories.c.active),
]


@dataclass(frozen=True, slots=True)
class TopicPage:
    """One page of the memories on a topic, and the number of memories by state."""

    page: Page[Memory]
    active: int
    inactive: int


async def page_on_topic(
    db: Database, topic: str, service: str | None, *, limit: int, position: Sequence[Any] | None
) -> TopicPage:
    """Return one page of the memories on a topic: active first, then by confidence.

    Their texts are read once, for the page and for the counts.
    """
    ranked = (
        sa.select(
            memories.c.id,
            sa.type_coerce(memories.c.active, NUMBER).label("active"),
            memories.c.confidence,
            sa.type_coerce(memories.c.updated_at, Stamp).label("updated"),
        )
        .where(_topic_conditions(topic, service))
        .cte("ranked")
        .prefix_with("MATERIALIZED")
    )
    keys = _topic_order(ranked.c)
    active, total = (
        sa.select(count).select_from(ranked).scalar_subquery()
        for count in (sa.func.coalesce(sa.func.sum(ranked.c.active), 0), sa.func.count())
    )
    totals = sa.select(active.label("active_total"), total.label("total")).subquery("totals")
    placed = sa.select(ranked).order_by(*(key.ordered() for key in keys)).limit(limit + 1)
    if position is not None:
        placed = placed.where(after(keys, position))
    first = placed.subquery("first")
    query = (
        sa.select(totals, first)
        .select_from(totals.outerjoin(first, sa.true()))
        .order_by(*(key.ordered() for key in _topic_order(first.c)))
    )
    rows = await db.fetch_all(query)
    found = rows[:limit] if rows[0]["id"] is not None else []
    texts = await memories_by_ids(db, [row["id"] for row in found])
    last = [found[-1][key.column.name] for key in keys] if len(rows) > limit else None
    page = Page([texts[row["id"]] for row in found if row["id"] in texts], last)
    active_total = int(rows[0]["active_total"])  # PostgreSQL returns a sum as a decimal
    return TopicPage(page, active_total, rows[0]["total"] - active_total)


def _topic_order(columns: Any) -> list[Key]:
    names = ("active", "confidence", "updated")
    return [*(Key(columns[name], descending=True) for name in names), Key(columns.id)]


async def evidence_of(db: Database, ids: Sequence[int]) -> AuditEvidence:
    """Return the evidence for these memories."""
    return AuditEvidence(
        confirmed=await _changes_by_cause(db, ids, REINFORCED),
        contradicted=await _changes_by_cause(db, ids, CONTRADICTED),
        included=await _included(db, ids),
        links=await _contradictions(db, ids),
        cases=await _open_reviews(db, ids),
        outcomes=await _outcomes(db, ids),
    )


def _topic_conditions(topic: str, service: str | None) -> sa.ColumnElement[bool]:
    named = None if topic == GENERAL else service
    texts = [text_contains(column, topic) for column in (memories.c.observation, memories.c.title)]
    if named is None and topic != GENERAL:
        return sa.or_(*texts)
    return sa.or_(memories.c.service.is_not_distinct_from(named), *texts)


async def _changes_by_cause(db: Database, ids: Sequence[int], cause: str) -> dict[int, AuditTally]:
    rows = sa.select(history.c.memory_id, history.c.session_id, history.c.at, history.c.id).where(
        history.c.memory_id.in_(ids),
        history.c.cause.concat("") == cause,  # use the index of IDs: a cause has many more rows
    )
    return _tallies(await _newest(db, rows.subquery("changed"), "memory_id"))


async def _included(db: Database, ids: Sequence[int]) -> dict[int, AuditTally]:
    rows = (
        sa.select(exposures.c.memory_id, exposures.c.session_id, exposures.c.id)
        .where(exposures.c.memory_id.in_(ids))
        .where(exposures.c.position.is_not(None))
    )
    when = [(sessions, sessions.c.started_at.label("at"))]
    included = rows.subquery("told")
    return _tallies(await _newest(db, included, "memory_id", also=when, of="session_id"))


async def _contradictions(db: Database, ids: Sequence[int]) -> dict[int, AuditLinks]:
    rows = _both_ways(links, "memory_id", "target_id", ids)
    found = await _newest(db, rows, "own_id", also=OTHER_MEMORY, of="other_id")
    return {
        number: AuditLinks(count, links=tuple(map(_link, some)))
        for number, (count, some) in _grouped(found, "own_id").items()
    }


async def _open_reviews(db: Database, ids: Sequence[int]) -> dict[int, AuditLinks]:
    rows = _both_ways(reviews, "old_id", "new_id", ids, reviews.c.state == "open")
    return {
        number: AuditLinks(count, cases=tuple(map(_case, some)))
        for number, (count, some) in _grouped(await _newest(db, rows, "own_id"), "own_id").items()
    }


def _link(row: Any) -> AuditLink:
    return AuditLink(
        what=row["what"],
        inward=bool(row["inward"]),
        memory_id=row["other_id"],
        observation=row["observation"],
        active=bool(row["active"]),
        session_id=row["session_id"],
        at=row["created_at"],
    )


def _case(row: Any) -> AuditReview:
    return AuditReview(
        review_id=row["id"],
        kind=row["kind"],
        other_id=row["other_id"],
        observation=row["said"],
        at=row["created_at"],
    )


async def _outcomes(db: Database, ids: Sequence[int]) -> dict[int, AuditOutcome]:
    query = sa.select(verifications).where(
        verifications.c.memory_id.in_(ids), verifications.c.checked_at.is_not(None)
    )
    return {
        row["memory_id"]: AuditOutcome(
            state=row["state"],
            checked_at=row["checked_at"],
            evidence=tuple(row["evidence"]),
            untested=tuple(row["untested"]),
        )
        for row in await db.fetch_all(query)
    }


def _both_ways(
    table: sa.Table, one: str, other: str, ids: Sequence[int], *more: sa.ColumnElement[bool]
) -> sa.Subquery:
    """Return a table's rows from the side of either memory that they reference."""
    ways = [
        sa.select(
            table,
            table.c[own].label("own_id"),
            table.c[its].label("other_id"),
            sa.literal_column(inward, sa.Integer()).label("inward"),
        ).where(table.c[own].in_(ids), *more)
        for own, its, inward in ((one, other, "0"), (other, one, "1"))
    ]
    return sa.union_all(*ways).subquery("ways")


async def _newest(
    db: Database, rows: sa.Subquery, own: str, *, also: JoinedColumns = (), of: str = ""
) -> Sequence[Any]:
    """Return the newest rows of each memory, newest first, each with the total of its memory.

    `also` are columns of another table, from the row whose ID is in the column `of`.
    """
    mine = rows.c[own]
    placed = sa.select(
        rows,
        sa.func.row_number().over(partition_by=mine, order_by=rows.c.id.desc()).label("place"),
        sa.func.count().over(partition_by=mine).label("count"),
    ).subquery("placed")
    query = sa.select(placed, *(column for _, column in also))
    for table, _ in also[:1]:
        query = query.select_from(placed.outerjoin(table, table.c.id == placed.c[of]))
    query = query.where(placed.c.place <= NAMED).order_by(placed.c[own], placed.c.place)
    return await db.fetch_all(query)


def _tallies(rows: Sequence[Any]) -> dict[int, AuditTally]:
    return {
        number: AuditTally(
            count, tuple(AuditOccurrence(row["session_id"], row["at"]) for row in some)
        )
        for number, (count, some) in _grouped(rows, "memory_id").items()
    }


def _grouped(rows: Sequence[Any], own: str) -> dict[int, tuple[int, list[Any]]]:
    """Return the rows of each memory, with their total."""
    found: dict[int, tuple[int, list[Any]]] = {}
    for row in rows:
        found.setdefault(row[own], (row["count"], []))[1].append(row)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryReport:
    """One observation of a memory's text; `before` is None for the creation of the memory."""

    session_id: int | None
    tier: int
    at: datetime
    cause: str
    before: float | None
    after: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryInclusion:
    """A session with a memory in its prompt, and the position of the memory."""

    session_id: int
    tier: int
    at: datetime
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCounts:
    """The number of reports of a memory, of reporting sessions, and of prompts that included it."""

    reports: int
    sessions: int
    inclusions: int


async def counts(db: Database, memory_id: MemoryId) -> SourceCounts:
    """Return how often a memory was observed and included."""
    of_it = (history.c.memory_id == memory_id, history.c.cause.in_(REPORT_CAUSES))
    report_count = sa.select(sa.func.count()).select_from(history).where(*of_it)
    by = sa.select(sa.func.count(history.c.session_id.distinct())).where(*of_it)
    inclusions = (
        sa.select(sa.func.count()).select_from(exposures).where(*_inclusion_conditions(memory_id))
    )
    query = sa.select(
        report_count.scalar_subquery().label("reports"),
        by.scalar_subquery().label("sessions"),
        inclusions.scalar_subquery().label("inclusions"),
    )
    row = await db.fetch_one(query)
    assert row is not None
    return SourceCounts(**{name: int(row[name]) for name in row})


async def reports(db: Database, memory_id: MemoryId, *, limit: int) -> list[MemoryReport]:
    """Return the reports of a memory, newest first."""
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
    """Return the sessions with a memory in their prompt, newest first."""
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
    return [MemoryInclusion(**dict(row)) for row in await db.fetch_all(query)]


async def contradicting(db: Database, memory_id: MemoryId, *, limit: int) -> list[MemoryId]:
    """Return the memories that contradict or are contradicted by a memory, newest first."""
    ways = [
        sa.select(table.c[its].label("other"), table.c.created_at.label("at")).where(
            table.c[own] == memory_id, *more
        )
        for table, own, its, more in (
            (links, "memory_id", "target_id", [links.c.what == CONTRADICTS]),
            (links, "target_id", "memory_id", [links.c.what == CONTRADICTS]),
            (reviews, "old_id", "new_id", []),
            (reviews, "new_id", "old_id", []),
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
    from lamplighter.repository.memory import reviews as review_rows  # not needed by an audit

    found: dict[MemoryId, Review] = {}
    for review in await review_rows.between(db, memory_id, others) if others else ():
        other = review.new_id if review.old_id == memory_id else review.old_id
        found[other] = review
    return found


def _inclusion_conditions(memory_id: MemoryId) -> tuple[sa.ColumnElement[bool], ...]:
    return (exposures.c.memory_id == memory_id, exposures.c.position.is_not(None))


def _report(row: Any) -> MemoryReport:
    before, after = (row[side] and row[side]["confidence"] for side in ("before", "after"))
    return MemoryReport(**{**row, "before": before, "after": after})
