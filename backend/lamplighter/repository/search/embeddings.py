"""Queries on the vectors of memories, one function each."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.change import ChangeOp
from lamplighter.domain.memory.memory import GLOBAL
from lamplighter.domain.search.semantic import IndexedVector, IndexProgress
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.dialect import InIdList, IsBlob
from lamplighter.repository.store.statements import Statement, prepare_insert
from lamplighter.repository.store.tables import changes, embeddings, memories

MEMORY: Final = "memory"
IDS: Final = sa.bindparam("ids", type_=sa.Text)


@dataclass(frozen=True, slots=True)
class UnembeddedMemory:
    """A memory without a vector of its current text; `of` identifies that text."""

    id: int
    service: str | None
    title: str
    observation: str
    of: str


@dataclass(frozen=True, slots=True)
class FollowedChanges:
    """Changes of memories: their IDs, whether they are too many to follow, and the last change."""

    ids: frozenset[int]
    anew: bool
    seq: int


# the source text of a vector: if a part changes, the vector is stale
_SOURCE_TEXT: Final = (
    memories.c.content_hash.concat("\n")
    .concat(sa.func.coalesce(memories.c.service, ""))
    .concat("\n")
    .concat(memories.c.title)
)
_WITH_EMBEDDINGS: Final = memories.outerjoin(embeddings, embeddings.c.memory_id == memories.c.id)
_FRESH: Final = sa.and_(
    embeddings.c.model == sa.bindparam("model"), embeddings.c.of == _SOURCE_TEXT
)
_ODD: Final = sa.or_(
    *(IsBlob(memories.c[name]) for name in ("observation", "service", "title", "content_hash"))
)
_UNEMBEDDED: Final = (
    sa.select(
        memories.c.id,
        memories.c.service,
        memories.c.title,
        memories.c.observation,
        _SOURCE_TEXT.label("of"),
    )
    .select_from(_WITH_EMBEDDINGS)
    .where(sa.or_(embeddings.c.id.is_(None), sa.not_(_FRESH)))
    .where(sa.not_(_ODD))
)
_OLDER: Final = Statement(
    _UNEMBEDDED.where(memories.c.id < sa.bindparam("before"))
    .order_by(memories.c.id.desc())
    .limit(sa.bindparam("most")),
    long=True,
)
_UNEMBEDDED_BY_IDS: Final = Statement(
    _UNEMBEDDED.where(InIdList(memories.c.id, IDS)).order_by(memories.c.id)
)
_STORED: Final = (
    sa.select(
        embeddings.c.id,
        embeddings.c.memory_id,
        embeddings.c.code,
        memories.c.active,
        sa.case((memories.c.scope == GLOBAL, 1), else_=0).label("everywhere"),
        memories.c.project,
        memories.c.service,
        memories.c.category,
    )
    .select_from(embeddings.join(memories, embeddings.c.memory_id == memories.c.id))
    .where(_FRESH)
)
_NEWER: Final = Statement(
    _STORED.where(embeddings.c.id > sa.bindparam("newest"))
    .order_by(embeddings.c.id)
    .limit(sa.bindparam("most"))
)
_STORED_BY_IDS: Final = Statement(
    _STORED.where(InIdList(embeddings.c.memory_id, IDS)).order_by(embeddings.c.id)
)
_VECTORS: Final = Statement(
    sa.select(embeddings.c.memory_id, embeddings.c.vector)
    .where(InIdList(embeddings.c.memory_id, IDS))
    .where(embeddings.c.model == sa.bindparam("model"))
    .order_by(embeddings.c.memory_id)
)
_DROP: Final = Statement(sa.delete(embeddings).where(InIdList(embeddings.c.memory_id, IDS)))
_PROGRESS: Final = Statement(
    sa.select(
        sa.func.count().label("total"),
        sa.func.count(sa.case((_FRESH, 1))).label("kept"),
    )
    .select_from(_WITH_EMBEDDINGS)
    .where(sa.not_(_ODD)),
    long=True,
)
_PUT: Final = prepare_insert(embeddings, "memory_id", "model", "of", "code", "vector", "at")
_CHANGES_AFTER: Final = Statement(
    sa.select(changes.c.seq, changes.c.entity, changes.c.entity_id, changes.c.op)
    .where(changes.c.seq > sa.bindparam("seq"))
    .order_by(changes.c.seq)
    .limit(sa.bindparam("most"))
)


async def list_unembedded(
    db: Database,
    model: str,
    *,
    before: int | None = None,
    limit: int = 0,
    among: Sequence[int] = (),
) -> list[UnembeddedMemory]:
    """Return memories without a vector of their current text.

    Either the memories below `before`, newest first, or those of some memories.
    """
    query = (
        _UNEMBEDDED_BY_IDS(model=model, ids=json.dumps(list(among)))
        if before is None
        else _OLDER(model=model, before=before, most=limit)
    )
    return [UnembeddedMemory(**dict(row)) for row in await db.fetch_all(query)]


async def put(
    db: Database,
    model: str,
    rows: Sequence[tuple[UnembeddedMemory, bytes, bytes]],
    *,
    now: datetime,
) -> int:
    """Store the codes and vectors of memories whose text has not changed; return their number."""
    still = set(await list_unembedded(db, model, among=[each.id for each, _, _ in rows]))
    unchanged = [row for row in rows if row[0] in still]
    await db.execute(_DROP(ids=json.dumps([each.id for each, _, _ in unchanged])))
    for each, code, vector in unchanged:
        await db.execute(
            _PUT(memory_id=each.id, model=model, of=each.of, code=code, vector=vector, at=now)
        )
    return len(unchanged)


async def newer(db: Database, model: str, *, after: int, limit: int) -> list[IndexedVector]:
    """Return memories whose vectors were stored after vector `after`, the oldest first."""
    return _placed(await db.fetch_all(_NEWER(model=model, newest=after, most=limit)))


async def stored_by_ids(db: Database, model: str, ids: Sequence[int]) -> list[IndexedVector]:
    """Return those of some memories that have a vector of their current text."""
    return _placed(await db.fetch_all(_STORED_BY_IDS(model=model, ids=json.dumps(list(ids)))))


async def vectors(db: Database, model: str, ids: Sequence[int]) -> list[tuple[int, bytes]]:
    """Return the vectors of some memories, without memories that have none."""
    rows = await db.fetch_all(_VECTORS(model=model, ids=json.dumps(list(ids))))
    return [(row["memory_id"], row["vector"]) for row in rows]


async def changes_after(db: Database, seq: int, *, most: int) -> FollowedChanges:
    """Return the memories that changed after a change of the feed."""
    rows = await db.fetch_all(_CHANGES_AFTER(seq=seq, most=most + 1))
    if not rows:
        return FollowedChanges(frozenset(), anew=False, seq=seq)
    ours = [row for row in rows if row["entity"] == MEMORY]
    missed = rows[0]["seq"] != seq + 1  # some were already pruned
    many = len(rows) > most or any(row["op"] == ChangeOp.BATCH for row in ours)
    ids = frozenset(row["entity_id"] for row in ours)
    return FollowedChanges(ids, anew=missed or many, seq=rows[-1]["seq"])


async def progress(db: Database, model: str) -> IndexProgress:
    """Return the number of memories that have a vector of their current text, and the total."""
    (row,) = await db.fetch_all(_PROGRESS(model=model))
    return IndexProgress(row["kept"], row["total"])


async def count_memories(db: Database) -> int:
    """Return the number of memories."""
    return await db.count_rows(memories)


async def newest_id(db: Database) -> int:
    """Return the ID of the newest memory, 0 without memories."""
    return int(await db.fetch_val(sa.select(sa.func.max(memories.c.id))) or 0)


async def remove_orphans(db: Database) -> None:
    """Remove vectors of memories that were deleted outside the app, because they reveal texts."""
    there = sa.select(memories.c.id)
    await db.execute(sa.delete(embeddings).where(embeddings.c.memory_id.not_in(there)))


def _placed(rows: Sequence[Any]) -> list[IndexedVector]:
    return [
        IndexedVector(
            id=row["id"],
            memory_id=row["memory_id"],
            code=bytes(row["code"]),
            active=bool(row["active"]),
            everywhere=bool(row["everywhere"]),
            project=str(row["project"]),
            service=None if row["service"] is None else str(row["service"]),
            category=str(row["category"]),
        )
        for row in rows
    ]
