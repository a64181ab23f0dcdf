"""What sessions search for among the memories, and what they were shown of them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.memory import Memory, MemoryId
from lamplighter.domain.search import Hit, Search
from lamplighter.repository.database import Database
from lamplighter.repository.memories import from_row
from lamplighter.repository.readable import fetched
from lamplighter.repository.tables import memories
from lamplighter.repository.tables_work import searches

WORDS: Final = 8


async def insert(
    db: Database,
    session_id: int | None,
    tool: str,
    query: str,
    hits: Sequence[Hit],
    *,
    now: datetime,
) -> Search:
    """Keep that a session searched, and what it was shown."""
    statement = (
        sa.insert(searches)
        .values(
            session_id=session_id,
            tool=tool,
            query=query,
            hits=[{"id": each.memory_id, "rank": each.rank} for each in hits],
            at=now,
        )
        .returning(searches)
    )
    return _search(await db.fetch_one(statement))


async def of(db: Database, session_id: int) -> list[Search]:
    """Return what a session searched for, oldest first."""
    query = sa.select(searches).where(searches.c.session_id == session_id).order_by(searches.c.id)
    return [_search(row) for row in await db.fetch_all(query)]


async def count(db: Database, session_id: int) -> int:
    """Return how often a session searched."""
    query = (
        sa.select(sa.func.count()).select_from(searches).where(searches.c.session_id == session_id)
    )
    return int(await db.fetch_val(query))


async def shown_of(db: Database, session_id: int, ids: Sequence[MemoryId]) -> set[MemoryId]:
    """Return which of these memories a session was shown because it searched."""
    wanted = set(ids)
    return {
        MemoryId(hit.memory_id)
        for search in await of(db, session_id)
        for hit in search.hits
        if hit.memory_id in wanted
    }


async def matching(
    db: Database, words: Sequence[str], *, service: str | None = None, limit: int
) -> list[Memory]:
    """Return active memories that hold any of some words: those with most of them first.

    Of a `service` its own come first, then those that are true of all.
    """
    held = [_holds(word) for word in words[:WORDS]]
    score = sum((sa.case((each, 1), else_=0) for each in held), sa.literal(0))
    query = sa.select(memories).where(memories.c.active == 1).where(sa.or_(sa.false(), *held))
    if service is not None:
        own = memories.c.service == service
        query = query.where(own | memories.c.service.is_(None))
        query = query.order_by(sa.case((own, 0), else_=1))
    query = query.order_by(score.desc(), memories.c.confidence.desc(), memories.c.id)
    return [from_row(row) for row in await fetched(db, query, limit)]


def _holds(word: str) -> sa.ColumnElement[bool]:
    named = sa.func.coalesce(memories.c.service, "")
    return sa.or_(
        memories.c.observation.icontains(word, autoescape=True),
        named.icontains(word, autoescape=True),
    )


def _search(row: Any) -> Search:
    return Search(
        id=row["id"],
        session_id=row["session_id"],
        tool=row["tool"],
        query=row["query"],
        hits=tuple(Hit(each["id"], each["rank"]) for each in row["hits"]),
        at=row["at"],
    )
