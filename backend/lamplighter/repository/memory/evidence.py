"""What beliefs rest on: one query for each fact, however many memories are asked about."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.memory.memory import GENERAL, Memory
from lamplighter.formats.audit import (
    NAMED,
    AuditEvidence,
    AuditLink,
    AuditLinks,
    AuditOccurrence,
    AuditReview,
    AuditTally,
)
from lamplighter.repository.memory.listing import UPDATED, prompt_order
from lamplighter.repository.memory.memories import from_row
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.dialect import NUMBER
from lamplighter.repository.store.paging import Key, Page, after
from lamplighter.repository.store.tables import (
    exposures,
    history,
    links,
    memories,
    reviews,
    sessions,
)
from lamplighter.repository.store.unreadable import fetch_readable

CONFIRMED: Final = "reinforced"
CONTRADICTED: Final = "contradicted"
JoinedColumns = Sequence[tuple[sa.Table, sa.ColumnElement[Any]]]
OTHER_MEMORY: Final[JoinedColumns] = [
    (memories, memories.c.observation),
    (memories, memories.c.active),
]


async def page_on_topic(
    db: Database, topic: str, service: str | None, *, limit: int, position: Sequence[Any] | None
) -> Page[Memory]:
    """Return one page of the memories on a topic: the active first, then the surest."""
    active = sa.type_coerce(memories.c.active, NUMBER)
    keys = [Key(active, descending=True), *prompt_order(memories.c)]
    query = sa.select(memories, keys[2].column.label(UPDATED)).where(
        _topic_conditions(topic, service)
    )
    if position is not None:
        query = query.where(after(keys, position))
    query = query.order_by(*(key.ordered() for key in keys))
    rows = await fetch_readable(db, query, limit + 1)
    behind = None
    if len(rows) > limit:
        last = rows[limit - 1]
        behind = [int(last["active"]), last["confidence"], last[UPDATED], last["id"]]
    return Page([from_row(row) for row in rows[:limit]], behind)


async def count_on_topic(db: Database, topic: str, service: str | None) -> tuple[int, int]:
    """Return how many memories on a topic are active, and how many are not."""
    query = (
        sa.select(memories.c.active, sa.func.count().label("count"))
        .where(_topic_conditions(topic, service))
        .group_by(memories.c.active)
    )
    found = {row["active"]: row["count"] for row in await db.fetch_all(query)}
    return found.get(True, 0), found.get(False, 0)


async def evidence_of(db: Database, ids: Sequence[int]) -> AuditEvidence:
    """Return what these memories rest on."""
    return AuditEvidence(
        confirmed=await _changes_by_cause(db, ids, CONFIRMED),
        contradicted=await _changes_by_cause(db, ids, CONTRADICTED),
        included=await _included(db, ids),
        links=await _contradictions(db, ids),
        cases=await _open_reviews(db, ids),
    )


def _topic_conditions(topic: str, service: str | None) -> sa.ColumnElement[bool]:
    named = None if topic == GENERAL else service
    said = memories.c.observation.icontains(topic, autoescape=True)
    titled = memories.c.title.icontains(topic, autoescape=True)
    if named is None and topic != GENERAL:
        return said | titled
    return memories.c.service.is_not_distinct_from(named) | said | titled


async def _changes_by_cause(db: Database, ids: Sequence[int], cause: str) -> dict[int, AuditTally]:
    rows = sa.select(history.c.memory_id, history.c.session_id, history.c.at, history.c.id).where(
        history.c.memory_id.in_(ids), history.c.cause == cause
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
    found: dict[int, list[AuditLink]] = defaultdict(list)
    counts: dict[int, int] = {}
    for row in await _newest(db, rows, "own_id", also=OTHER_MEMORY, of="other_id"):
        tie = AuditLink(
            what=row["what"],
            inward=bool(row["inward"]),
            memory_id=row["other_id"],
            observation=row["observation"],
            active=bool(row["active"]),
            session_id=row["session_id"],
            at=row["created_at"],
        )
        found[row["own_id"]].append(tie)
        counts[row["own_id"]] = row["count"]
    return {number: AuditLinks(counts[number], links=tuple(ties)) for number, ties in found.items()}


async def _open_reviews(db: Database, ids: Sequence[int]) -> dict[int, AuditLinks]:
    rows = _both_ways(reviews, "old_id", "new_id", ids, reviews.c.state == "open")
    found: dict[int, list[AuditReview]] = defaultdict(list)
    counts: dict[int, int] = {}
    for row in await _newest(db, rows, "own_id"):
        case = AuditReview(
            review_id=row["id"],
            kind=row["kind"],
            other_id=row["other_id"],
            observation=row["said"],
            at=row["created_at"],
        )
        found[row["own_id"]].append(case)
        counts[row["own_id"]] = row["count"]
    return {
        number: AuditLinks(counts[number], cases=tuple(cases)) for number, cases in found.items()
    }


def _both_ways(
    table: sa.Table, one: str, other: str, ids: Sequence[int], *more: sa.ColumnElement[bool]
) -> sa.Subquery:
    """Return a table's rows seen from either memory that they name."""
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
    """Return the newest rows of each memory, newest first, each with how many there are.

    `also` are columns of another table: those of the row whose number stands in `of`.
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
    found: dict[int, list[AuditOccurrence]] = defaultdict(list)
    counts: dict[int, int] = {}
    for row in rows:
        found[row["memory_id"]].append(AuditOccurrence(row["session_id"], row["at"]))
        counts[row["memory_id"]] = row["count"]
    return {
        number: AuditTally(counts[number], tuple(occurrences))
        for number, occurrences in found.items()
    }
