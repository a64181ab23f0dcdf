"""Search: what a session asks of the memories, and what it is shown; each is kept."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from lamplighter.domain.admit import Redact
from lamplighter.domain.errors import Conflict, NotFound
from lamplighter.domain.memory import Memory, MemoryId
from lamplighter.domain.search import Found, Hit, Layer, Method, Near, Results, Wanted, words
from lamplighter.domain.text import one_line
from lamplighter.repository import Database, memories, searches, writing
from lamplighter.usecases.naming import spelled

MOST: Final = 200
"""A session that searches without end is shown nothing more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Who searches: a session, by one of its tools."""

    session_id: int
    tool: str
    redact: Redact
    known: Sequence[str] = ()


async def find(db: Database, wanted: Wanted, *, now: datetime, near: Near | None = None) -> Results:
    """Search all that is known; whatever is typed is a valid query."""
    found = await searches.matching(
        db, words(wanted.query), service=wanted.service, limit=wanted.limit
    )
    return Results(
        found=tuple(
            Found(
                layer=Layer.MEMORY,
                row=memory,
                rank=rank,
                score=1.0 / rank,
                method=Method.WORDS,
                text=memory.observation,
            )
            for rank, memory in enumerate(found, 1)
        )
    )


async def search(
    db: Database, query: str, asker: Asker, *, service: str | None, limit: int, now: datetime
) -> list[Memory]:
    """Return active memories that hold words of a query, best first; any words are valid."""
    query = one_line(asker.redact(query))
    async with writing(db):
        await _bounded(db, asker)
        name = await spelled(db, service, asker.known)
        found = await searches.matching(db, words(query), service=name, limit=limit)
        await _keep(db, asker, query, found, now=now)
    return found


async def read(db: Database, memory_id: int, asker: Asker, *, now: datetime) -> Memory:
    """Return one memory, active or not; raises NotFound."""
    async with writing(db):
        await _bounded(db, asker)
        found = await memories.get(db, MemoryId(memory_id))
        await _keep(db, asker, str(memory_id), [found] if found else [], now=now)
    if found is None:
        raise NotFound(f"There is no memory {memory_id}.")
    return found


async def _bounded(db: Database, asker: Asker) -> None:
    if await searches.count(db, asker.session_id) >= MOST:
        raise Conflict(f"This session has searched {MOST} times; that is all it may.")


async def _keep(
    db: Database, asker: Asker, query: str, found: Sequence[Memory], *, now: datetime
) -> None:
    hits = [Hit(each.id, rank) for rank, each in enumerate(found, 1)]
    await searches.insert(db, asker.session_id, asker.tool, query, hits, now=now)
