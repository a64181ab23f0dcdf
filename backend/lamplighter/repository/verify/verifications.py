"""Outcomes of verification, one per memory, and the memories to verify."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.memory.memory import OPERATIONAL, MemoryId, Trust
from lamplighter.domain.verify.verdict import VerdictState
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.dialect import text_contains
from lamplighter.repository.store.statements import Key, Page, Rows, equal_to, in_order, update_rows
from lamplighter.repository.store.tables import (
    events,
    memories,
    reader,
    verification_position,
    verifications,
)

IDS_AT_ONCE: Final = 500
LOW_CONFIDENCE: Final = 0.8
"""Memories below this are verified (four-tier-memory-schema)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """The last outcome for a memory at one of its versions.

    `evidence` has an object per claim: claim, state, source and detail. `untested` are the parts of
    the text without evidence. `mark` is why the memory is to be verified, if it is marked.
    """

    memory_id: MemoryId
    state: VerdictState
    version: int
    evidence: tuple[dict[str, str], ...]
    untested: tuple[str, ...]
    checked_at: datetime | None
    marked_at: datetime | None = None
    mark: str = ""


@dataclass(frozen=True, slots=True)
class ChangeNotice:
    """An event, with the fields that verification reads."""

    id: int
    service: str | None
    text: str


async def get(db: Database, memory_id: int) -> Verification | None:
    """Return the outcome for a memory."""
    return await _rows.one(db, verifications.c.memory_id == memory_id)


async def put(db: Database, outcome: Verification) -> None:
    """Store an outcome, which replaces the mark of its memory. Call it within `writing`."""
    await db.execute(sa.delete(verifications).where(verifications.c.memory_id == outcome.memory_id))
    await db.execute(sa.insert(verifications).values(**asdict(outcome)))


async def mark(db: Database, ids: Sequence[int], reason: str, *, now: datetime) -> None:
    """Mark memories for verification; call it within `writing`."""
    held = sa.update(verifications).where(verifications.c.memory_id.in_(ids))
    rows = await db.fetch_all(
        held.values(marked_at=now, mark=reason).returning(verifications.c.memory_id)
    )
    there = {row["memory_id"] for row in rows}
    untested = {"state": VerdictState.UNTESTED, "version": 0, "evidence": [], "untested": []}
    marked = sa.insert(verifications).values(**untested, marked_at=now, mark=reason)
    for number in (each for each in ids if each not in there):
        await db.execute(marked.values(memory_id=number))


async def marked(db: Database, *, limit: int) -> list[MemoryId]:
    """Return active memories that are marked, the longest marked first."""
    query = (
        sa.select(memories.c.id)
        .join(verifications, verifications.c.memory_id == memories.c.id)
        .where(memories.c.active == 1, verifications.c.marked_at.is_not(None))
        .order_by(verifications.c.marked_at, memories.c.id)
        .limit(limit)
    )
    return [MemoryId(row["id"]) for row in await db.fetch_all(query)]


async def marked_among(db: Database, ids: Sequence[int]) -> set[int]:
    """Return those of some memories that are marked."""
    is_marked = verifications.c.marked_at.is_not(None)
    query = sa.select(verifications.c.memory_id).where(verifications.c.memory_id.in_(ids))
    return {row["memory_id"] for row in await db.fetch_all(query.where(is_marked))}


async def unmark(db: Database, ids: Sequence[int]) -> None:
    """Remove the marks of memories; call it within `writing`."""
    await update_rows(
        db, verifications, verifications.c.memory_id.in_(ids), marked_at=None, mark=""
    )


async def unverified(
    db: Database, *, before: datetime, limit: int, after: int = 0
) -> list[MemoryId]:
    """Return active memories that are not verified, ordered by ID, with IDs above `after`.

    A memory is tested again if it was changed, or if its outcome is from before `before`.
    """
    query = _unverified(before, memories.c.id > after).order_by(memories.c.id).limit(limit)
    return [MemoryId(row["id"]) for row in await db.fetch_all(query)]


async def due_among(db: Database, ids: Collection[int], *, before: datetime) -> list[MemoryId]:
    """Return those of some memories that are active and not verified, ordered by ID."""
    found: list[MemoryId] = []
    for at in range(0, len(ids), IDS_AT_ONCE):
        some = memories.c.id.in_(sorted(ids)[at : at + IDS_AT_ONCE])
        rows = await db.fetch_all(_unverified(before, some).order_by(memories.c.id))
        found += [MemoryId(row["id"]) for row in rows]
    return found


def _unverified(before: datetime, *where: Any) -> sa.Select[Any]:
    return (
        sa.select(memories.c.id)
        .outerjoin(verifications, verifications.c.memory_id == memories.c.id)
        .where(memories.c.active == 1, is_due(before), *where)
    )


def is_due(before: datetime) -> sa.ColumnElement[bool]:
    """Return the condition of `unverified` for memories that are joined with their outcomes."""
    columns, verification = memories.c, verifications.c
    weak = (columns.confidence < LOW_CONFIDENCE) | (columns.trust == Trust.UNVERIFIED.value)
    again = (
        verification.memory_id.is_(None)
        | (verification.version != columns.version)
        | verification.checked_at.is_(None)
        | (verification.checked_at < before)
    )
    return sa.and_(columns.verified_at.is_(None), weak, again)


async def naming(
    db: Database, service: str | None, names: Sequence[str], *, limit: int
) -> list[int]:
    """Return active memories of a service, or whose text contains one of these names."""
    texts: list[sa.ColumnElement[Any]] = [
        text_contains(memories.c.observation, each) for each in names
    ]
    if service is not None:
        texts.append(memories.c.service == service)
    if not texts:
        return []
    query = sa.select(memories.c.id).where(memories.c.active == 1, sa.or_(*texts))
    rows = await db.fetch_all(query.order_by(memories.c.id).limit(limit))
    return [row["id"] for row in rows]


async def events_after_position(db: Database, *, limit: int) -> list[ChangeNotice] | None:
    """Return the events that were not read yet; None the first time, which reads none."""
    position = await db.fetch_val(sa.select(verification_position.c.event_id))
    if position is None:
        return None
    columns = (events.c.id, events.c.service, events.c.text)
    query = sa.select(*columns).where(events.c.id > position).order_by(events.c.id).limit(limit)
    return [
        ChangeNotice(row["id"], row["service"], row["text"]) for row in await db.fetch_all(query)
    ]


async def save_position(db: Database, event_id: int | None) -> None:
    """Store the last event that was read, None for the newest. Call it within `writing`."""
    if event_id is None:
        event_id = await db.fetch_val(sa.select(sa.func.coalesce(sa.func.max(events.c.id), 0)))
    await db.execute(sa.delete(verification_position))
    await db.execute(sa.insert(verification_position).values(id=1, event_id=event_id))


async def count_by_state(db: Database) -> dict[str, int]:
    """Return the number of active memories that are verified, marked, and by outcome."""
    columns, verification = memories.c, verifications.c
    outcomes = (
        sa.select(verification.state, sa.func.count().label("count"))
        .join(memories, columns.id == verification.memory_id)
        .where(columns.active == 1, verification.checked_at.is_not(None))
        .group_by(verification.state)
        .order_by(verification.state)
    )
    counts = dict.fromkeys(VerdictState, 0)
    counts |= {VerdictState(row["state"]): row["count"] for row in await db.fetch_all(outcomes)}
    active, verified = columns.active == 1, columns.verified_at.is_not(None)
    marked = sa.select(verification.memory_id).where(verification.marked_at.is_not(None))
    weak = (columns.confidence < LOW_CONFIDENCE) | (columns.trust == Trust.UNVERIFIED.value)
    return {
        **{state.value: number for state, number in counts.items()},
        "verified": await db.count_rows(memories, active, verified),
        "unverified": await db.count_rows(memories, active, ~verified, weak),
        "operational_verified": await db.count_rows(
            memories, active, verified, columns.category.in_(OPERATIONAL)
        ),
        "marked": await db.count_rows(memories, active, columns.id.in_(marked)),
    }


async def page(
    db: Database, state: VerdictState | None, *, limit: int, position: Sequence[Any] | None = None
) -> Page[Verification]:
    """Return a page of outcomes, ordered by the IDs of their memories."""
    query = sa.select(verifications).where(*equal_to(verifications.c, state=state))
    return await in_order(
        db, query, Key(verifications.c.memory_id), _rows.read, limit=limit, position=position
    )


_rows: Final = Rows(verifications, reader(Verification))
