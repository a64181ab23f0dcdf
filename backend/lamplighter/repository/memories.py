"""Queries on memories, one function each."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain import plain
from lamplighter.domain.change import Op
from lamplighter.domain.memory import (
    ACTIVE_THRESHOLD,
    GENERAL,
    OPERATIONAL,
    OPERATIONS,
    Candidate,
    Category,
    InactiveReason,
    Kind,
    Memory,
    MemoryId,
    Source,
    Trust,
    clamp,
)
from lamplighter.domain.service import fold
from lamplighter.domain.text import content_hash
from lamplighter.repository import changes
from lamplighter.repository.columns import Stamp
from lamplighter.repository.database import Database
from lamplighter.repository.paging import Key, Page, after
from lamplighter.repository.prepared import Statement, inserting
from lamplighter.repository.tables import KNOWLEDGE, memories

ENTITY: Final = "memory"
NAMELESS: Final = "\U0010ffff"
UPDATED: Final = "updated_text"
# as it is stored, to page by: a row written by hand may have it without a fraction
_UPDATED: Final = sa.type_coerce(memories.c.updated_at, Stamp)

_INSERT: Final = inserting(
    memories,
    *("service", "category", "observation", "confidence", "active", "created_at", "updated_at"),
    *("session_id", "tier", "kind", "trust", "title", "tags", "project", "scope"),
    *("content_hash", "source", "source_ref", "inactive_reason"),
    returning=True,
)
_BESIDE: Final = Statement(
    sa.select(memories)
    .where(memories.c.category == sa.bindparam("category"))
    .where(memories.c.service.is_not_distinct_from(sa.bindparam("service")))
    .where(
        (memories.c.active == 1)
        | (memories.c.content_hash == sa.bindparam("hash"))
        # a row written by hand has no hash
        | (memories.c.observation == sa.bindparam("observation"))
    )
    .order_by(memories.c.confidence.desc(), memories.c.id)
)
_SPELLED: Final = Statement(
    sa.select(memories.c.service).where(memories.c.service == sa.bindparam("service")).limit(1)
)
_COUNT: Final = sa.select(sa.func.count()).select_from(memories)
_TOLD: Final = Statement(
    _COUNT.where(memories.c.active == 1).where(memories.c.confidence >= ACTIVE_THRESHOLD),
    long=True,
)
# in the words of its index, and so that SQLite takes none that all the others are in too
_UNTOLD: Final = Statement(
    _COUNT.where(sa.text(KNOWLEDGE))
    .where(sa.func.coalesce(memories.c.active, 0) == 1)
    .where(memories.c.confidence + 0.0 >= ACTIVE_THRESHOLD),
    long=True,
)


class Sort(StrEnum):
    """In which order a list of memories comes."""

    CONFIDENCE = "confidence"
    UPDATED = "updated"
    CREATED = "created"
    SERVICE = "service"


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which memories are asked for; None asks for all. `service` "general" means NULL."""

    q: str | None = None
    service: str | None = None
    category: Category | None = None
    kind: Kind | None = None
    project: str | None = None
    scope: str | None = None
    active: bool | None = None


async def get(db: Database, memory_id: int) -> Memory | None:
    """Return one memory."""
    row = await db.fetch_one(sa.select(memories).where(memories.c.id == memory_id))
    return None if row is None else _memory(row)


async def beside(db: Database, candidate: Candidate) -> list[Memory]:
    """Return what may be the same: its service's and category's active rows and inactive twins."""
    query = _BESIDE(
        category=candidate.category,
        service=candidate.service,
        hash=content_hash(candidate.observation),
        observation=candidate.observation,
    )
    return [_memory(row) for row in await db.fetch_all(query)]


async def spelling(db: Database, service: str) -> str | None:
    """Return how a service is spelled in the memories we hold, whatever its case here."""
    if await db.fetch_val(_SPELLED(service=service)) is not None:
        return service
    query = sa.select(memories.c.service).distinct().order_by(memories.c.service)
    names = [row["service"] for row in await db.fetch_all(query) if row["service"]]
    return next((name for name in names if fold(name) == fold(service)), None)


async def insert(db: Database, candidate: Candidate, *, now: datetime) -> Memory:
    """Keep a candidate as a new memory."""
    confidence = clamp(candidate.confidence)
    active = confidence >= ACTIVE_THRESHOLD
    statement = _INSERT(
        service=candidate.service,
        category=candidate.category,
        observation=candidate.observation,
        confidence=confidence,
        active=active,
        created_at=now,
        updated_at=now,
        session_id=candidate.session_id,
        tier=candidate.tier,
        kind=candidate.kind,
        trust=candidate.trust,
        title=candidate.title,
        tags=list(candidate.tags),
        project=OPERATIONS,
        scope="project",
        content_hash=content_hash(candidate.observation),
        source=candidate.source,
        source_ref=candidate.source_ref,
        inactive_reason=None if active else InactiveReason.LOW,
    )
    memory = _memory(await db.fetch_one(statement))
    await _tell(db, memory, Op.CREATED, now=now)
    return memory


async def update(db: Database, memory: Memory, *, now: datetime) -> None:
    """Store a memory as it now is."""
    statement = sa.update(memories).where(memories.c.id == memory.id).values(**_changeable(memory))
    await db.execute(statement)
    await _tell(db, memory, Op.UPDATED, now=now)


async def delete(db: Database, memory: Memory, *, now: datetime) -> None:
    """Remove a memory for good; only its number stays in the feed."""
    await db.execute(sa.delete(memories).where(memories.c.id == memory.id))
    await changes.forget_row(db, ENTITY, memory.id)
    await changes.append(
        db, ENTITY, memory.id, Op.DELETED, now=now, version=memory.version + 1, row=None
    )


async def page(
    db: Database, wanted: Filter, *, sort: Sort, limit: int, position: Sequence[Any] | None = None
) -> Page[Memory]:
    """Return one page of memories, behind `position` when it is given."""
    return await _paged(db, conditions(wanted), sort, limit=limit, position=position)


async def count(db: Database, wanted: Filter) -> int:
    """Return how many memories there are."""
    query = sa.select(sa.func.count()).select_from(memories).where(*conditions(wanted))
    return int(await db.fetch_val(query))


async def tellable(
    db: Database,
    *,
    services: Sequence[str] | None,
    inside: bool,
    limit: int,
    longest: int | None = None,
    position: Sequence[Any] | None = None,
) -> Page[Memory]:
    """Return active operational memories in the order sessions are told them.

    `services` None means all; else those of these services (`inside`) or all
    the others. `longest` leaves out observations of more characters than that.
    """
    wanted = _tellable()
    if services is not None:
        own = memories.c.service.in_(services)
        wanted.append(own if inside else memories.c.service.is_(None) | ~own)
    if longest is not None:
        wanted.append(sa.func.length(memories.c.observation) <= longest)
    return await _paged(db, wanted, Sort.CONFIDENCE, limit=limit, position=position)


async def some(db: Database, ids: Sequence[int]) -> list[Memory]:
    """Return the memories with these numbers, in their order; those that are gone are left out."""
    query = sa.select(memories).where(memories.c.id.in_(ids)).order_by(memories.c.id)
    return [_memory(row) for row in await db.fetch_all(query)]


async def newest(db: Database) -> datetime | None:
    """Return when a memory was last confirmed; None while there is none."""
    query = sa.select(memories.c.updated_at).order_by(memories.c.updated_at.desc()).limit(1)
    found: datetime | None = await db.fetch_val(query)
    return found


async def shortest(db: Database) -> int:
    """Return how many characters the shortest active observation has."""
    length = sa.func.length(memories.c.observation)
    query = sa.select(sa.func.min(length)).where(memories.c.active == 1)
    return int(await db.fetch_val(query) or 0)


async def count_tellable(db: Database) -> int:
    """Return how many memories sessions could be told.

    All but knowledge: to ask the category of each row would take five times as long.
    """
    return int(await db.fetch_val(_TOLD())) - int(await db.fetch_val(_UNTOLD()))


def _tellable() -> list[sa.ColumnElement[bool]]:
    return [
        memories.c.active == 1,
        memories.c.confidence >= ACTIVE_THRESHOLD,
        memories.c.category.in_(OPERATIONAL),
    ]


def conditions(wanted: Filter) -> list[sa.ColumnElement[bool]]:
    """Return what is true of the memories that are asked for."""
    found: list[sa.ColumnElement[bool]] = []
    if wanted.q:
        found.append(memories.c.observation.icontains(wanted.q, autoescape=True))
    if wanted.service is not None:
        service = None if wanted.service == GENERAL else wanted.service
        found.append(memories.c.service.is_not_distinct_from(service))
    if wanted.active is not None:
        found.append(memories.c.active == int(wanted.active))
    for name in ("category", "kind", "project", "scope"):
        value = getattr(wanted, name)
        if value is not None:
            found.append(memories.c[name] == value)
    return found


async def _paged(
    db: Database,
    wanted: Sequence[sa.ColumnElement[bool]],
    sort: Sort,
    *,
    limit: int,
    position: Sequence[Any] | None,
) -> Page[Memory]:
    keys = _order(sort)
    query = sa.select(memories, _UPDATED.label(UPDATED)).where(*wanted)
    if position is not None:
        query = query.where(after(keys, position))
    query = query.order_by(*(key.ordered() for key in keys)).limit(limit + 1)
    rows = await db.fetch_all(query)
    behind = _position(sort, rows[limit - 1]) if len(rows) > limit else None
    return Page([_memory(row) for row in rows[:limit]], behind)


def _order(sort: Sort) -> list[Key]:
    newest, number = Key(_UPDATED, descending=True), Key(memories.c.id)
    match sort:
        case Sort.CONFIDENCE:
            return [Key(memories.c.confidence, descending=True), newest, number]
        case Sort.UPDATED:
            return [newest, number]
        case Sort.CREATED:
            return [Key(memories.c.id, descending=True)]
        case Sort.SERVICE:
            # general, which has no name, comes last
            named = sa.func.coalesce(memories.c.service, NAMELESS)
            return [Key(named), Key(memories.c.confidence, descending=True), number]


def _position(sort: Sort, row: Any) -> list[Any]:
    match sort:
        case Sort.CONFIDENCE:
            return [row["confidence"], row[UPDATED], row["id"]]
        case Sort.UPDATED:
            return [row[UPDATED], row["id"]]
        case Sort.CREATED:
            return [row["id"]]
        case Sort.SERVICE:
            return [row["service"] or NAMELESS, row["confidence"], row["id"]]


async def _tell(db: Database, memory: Memory, op: Op, *, now: datetime) -> None:
    row = plain.memory(memory)
    await changes.append(db, ENTITY, memory.id, op, now=now, version=memory.version, row=row)


def _changeable(memory: Memory) -> dict[str, Any]:
    return {
        "service": memory.service,
        "category": memory.category,
        "observation": memory.observation,
        "confidence": memory.confidence,
        "active": memory.active,
        "updated_at": memory.updated_at,
        "kind": memory.kind,
        "trust": memory.trust,
        "content_hash": content_hash(memory.observation),
        "duplicate_count": memory.duplicate_count,
        "inactive_reason": memory.inactive_reason,
        "decayed_weeks": memory.decayed_weeks,
        "pinned": memory.pinned,
        "version": memory.version,
    }


def _memory(row: Any) -> Memory:
    fields = dict(row)
    fields.pop(UPDATED, None)
    fields["id"] = MemoryId(fields["id"])
    fields["category"] = Category(fields["category"])
    fields["kind"] = Kind(fields["kind"])
    fields["trust"] = Trust(fields["trust"])
    fields["source"] = Source(fields["source"])
    fields["tags"] = tuple(fields["tags"])
    if fields["inactive_reason"] is not None:
        fields["inactive_reason"] = InactiveReason(fields["inactive_reason"])
    return Memory(**fields)
