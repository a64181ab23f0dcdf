"""Searches of sessions among the memories, and their results."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from lamplighter.domain.memory.memory import MemoryId
from lamplighter.domain.search.search import RecordedHit, RecordedSearch
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.statements import Rows
from lamplighter.repository.store.tables import searches


async def insert(
    db: Database,
    session_id: int | None,
    tool: str,
    query: str,
    hits: Sequence[RecordedHit],
    *,
    now: datetime,
) -> RecordedSearch:
    """Record a search of a session, and its results."""
    return await _rows.store(
        db,
        session_id=session_id,
        tool=tool,
        query=query,
        hits=[{"id": each.memory_id, "rank": each.rank} for each in hits],
        at=now,
    )


async def of_session(db: Database, session_id: int) -> list[RecordedSearch]:
    """Return the searches of a session, oldest first."""
    return await _rows.oldest(db, searches.c.session_id == session_id)


async def count(db: Database, session_id: int) -> int:
    """Return the number of searches of a session."""
    return await db.count_rows(searches, searches.c.session_id == session_id)


async def found_memories(db: Database, session_id: int, ids: Sequence[MemoryId]) -> set[MemoryId]:
    """Return those of these memories that a search of a session returned."""
    wanted = set(ids)
    return {
        MemoryId(hit.memory_id)
        for search in await of_session(db, session_id)
        for hit in search.hits
        if hit.memory_id in wanted
    }


def _search(row: Any) -> RecordedSearch:
    return RecordedSearch(
        id=row["id"],
        session_id=row["session_id"],
        tool=row["tool"],
        query=row["query"],
        hits=tuple(RecordedHit(each["id"], each["rank"]) for each in row["hits"]),
        at=row["at"],
    )


_rows: Final = Rows(searches, _search)
