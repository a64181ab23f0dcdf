"""The changes of memories by an origin, and the changes to replay with them."""

from collections.abc import Collection, Sequence
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.memory.intents import CONTRADICTS
from lamplighter.domain.memory.memory import MemoryId
from lamplighter.domain.memory.review import Resolution
from lamplighter.domain.memory.undo import UNDONE
from lamplighter.domain.revoke.origin import OriginKind, TeachingOrigin
from lamplighter.repository.memory.bulk import ids_as_json
from lamplighter.repository.memory.history import CONTRADICTED, HistoryRecord, history_rows
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.dialect import InIdList
from lamplighter.repository.store.statements import values_of
from lamplighter.repository.store.tables import acts, history, links, memories, reviews, sessions

ACTION: Final = "withdraw"
"""The action of a revocation in the journal."""

_CHOSEN: Final = {
    Resolution.KEEP_OLD: (reviews.c.old_id,),
    Resolution.KEEP_NEW: (reviews.c.new_id,),
    Resolution.BOTH: (reviews.c.old_id, reviews.c.new_id),
    Resolution.MERGE: (reviews.c.old_id,),
}


async def made_by(
    db: Database, origin: TeachingOrigin, *, before: int | None = None
) -> dict[int, int]:
    """Return the changes by an origin, each with its memory, before history entry `before`."""
    query = sa.select(history.c.id, history.c.memory_id).where(_by(origin))
    query = query.where(history.c.after.is_not(None), history.c.cause != UNDONE)
    if before is not None:
        query = query.where(history.c.id < before)
    found = await db.fetch_all(query.order_by(history.c.id))
    return {row["id"]: row["memory_id"] for row in found}


async def revocations(db: Database) -> list[tuple[str, int]]:
    """Return the revocations in effect: the name of the origin, and the first history entry."""
    again = acts.alias("again")
    undone = sa.exists().where(again.c.undoes == acts.c.id, again.c.changed.is_not(None))
    query = (
        sa.select(acts.c.subject, sa.func.min(history.c.id).label("entry"))
        .join(history, history.c.act_id == acts.c.id)
        .where(acts.c.action == ACTION, ~undone)
        .group_by(acts.c.id, acts.c.subject)
        .order_by(acts.c.id)
    )
    return [(row["subject"] or "", row["entry"]) for row in await db.fetch_all(query)]


async def of_memories(db: Database, ids: Collection[int]) -> list[HistoryRecord]:
    """Return all changes of some memories, oldest first."""
    return await history_rows.oldest(db, _among(history.c.memory_id, ids))


async def linked(db: Database, ids: Collection[int]) -> set[MemoryId]:
    """Return the memories that are linked with some memories, in either direction."""
    ends = (links.c.memory_id, links.c.target_id)
    return {
        number
        for own, other in (ends, ends[::-1])
        for number in await values_of(db, other, _among(own, ids))
    }


async def derived(db: Database, ids: Collection[int], kinds: Sequence[str]) -> set[MemoryId]:
    """Return the memories that were derived from some memories."""
    of = _among(links.c.target_id, ids)
    return set(await values_of(db, links.c.memory_id, of, links.c.what.in_(kinds)))


async def sources_of(
    db: Database, ids: Collection[int], kinds: Sequence[str]
) -> dict[int, set[MemoryId]]:
    """Return the memories that each of some memories was derived from."""
    query = sa.select(links.c.memory_id, links.c.target_id).where(_among(links.c.memory_id, ids))
    found: dict[int, set[MemoryId]] = {}
    for row in await db.fetch_all(query.where(links.c.what.in_(kinds))):
        found.setdefault(row["memory_id"], set()).add(MemoryId(row["target_id"]))
    return found


async def chosen_among(db: Database, ids: Collection[int]) -> set[MemoryId]:
    """Return those of some memories that a person chose in a review."""
    return {
        number
        for resolution, sides in _CHOSEN.items()
        for side in sides
        for number in await values_of(
            db, side, reviews.c.resolution == resolution, _among(side, ids)
        )
    }


async def tiers_of(db: Database, ids: Collection[int]) -> dict[int, int]:
    """Return the tier of each of some sessions."""
    query = sa.select(sessions.c.id, sessions.c.tier).where(_among(sessions.c.id, ids))
    return {row["id"]: row["tier"] for row in await db.fetch_all(query)}


async def sessions_of(db: Database, origin: TeachingOrigin) -> list[int]:
    """Return the sessions of an origin; a source has none."""
    match origin.kind:
        case OriginKind.SESSION:
            return [int(origin.name)]
        case OriginKind.AGENT:
            return await values_of(db, sessions.c.id, sessions.c.agent == origin.name)
        case OriginKind.SOURCE:
            return []


def _by(origin: TeachingOrigin) -> sa.ColumnElement[bool]:
    match origin.kind:
        case OriginKind.SESSION:
            return history.c.session_id == int(origin.name)
        case OriginKind.AGENT:
            own = sa.select(sessions.c.id).where(sessions.c.agent == origin.name)
            return history.c.session_id.in_(own)
        case OriginKind.SOURCE:
            return _by_source(origin.name)


def _by_source(source: str) -> sa.ColumnElement[bool]:
    """Select the creations of a source's memories, and the contradictions at their creation."""
    own = sa.select(memories.c.id).where(memories.c.source == source)
    begins = history.c.before.is_(None) & history.c.memory_id.in_(own)
    birth = history.alias("birth")
    contradicts = (
        sa.exists()
        .where(links.c.target_id == history.c.memory_id, links.c.what == CONTRADICTS)
        .where(birth.c.memory_id == links.c.memory_id, birth.c.before.is_(None))
        .where(birth.c.at == history.c.at, birth.c.memory_id.in_(own))
    )
    return begins | ((history.c.cause == CONTRADICTED) & contradicts)


def _among(column: Any, ids: Collection[int]) -> Any:
    return InIdList(column, sa.literal(ids_as_json(sorted(ids)), sa.Text))
