"""Search: the queries of a session on memories, and their recorded results."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from lamplighter.domain.errors import Conflict, require
from lamplighter.domain.memory.memory import OPERATIONS, Memory, MemoryId
from lamplighter.domain.search.search import (
    RecordedHit,
    SearchLayer,
    SearchRequest,
    SearchResults,
    SemanticIndex,
)
from lamplighter.domain.text import one_line
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import memories
from lamplighter.repository.memory.memories import service_name
from lamplighter.repository.search import searches
from lamplighter.usecases.access.project_wall import is_visible
from lamplighter.usecases.context import Context
from lamplighter.usecases.search.find import find

MAX_SEARCHES: Final = 200
"""The most searches of a session; a session that exceeds it gets no more results."""


__all__ = ["SearchingSession", "find", "read", "search"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchingSession:
    """The session that searches, with its tool. It finds the same memories as its project."""

    session_id: int
    tool: str
    service_names: Sequence[str] = ()
    project: str = OPERATIONS


async def search(
    here: Context, query: str, searcher: SearchingSession, *, service: str | None, limit: int
) -> SearchResults:
    """Return the active memories and pages that match a query, best first.

    Any text is a valid query. With a `service`, its own memories and general ones.
    """
    name = await service_name(here.db, service, searcher.service_names)
    request = SearchRequest(
        query=query,
        layers=(SearchLayer.MEMORY, SearchLayer.PAGE),
        service=name,
        general=True,
        limit=limit,
    )
    return await search_and_record(here, request, searcher)


async def search_and_record(
    here: Context,
    request: SearchRequest,
    searcher: SearchingSession,
    *,
    near: SemanticIndex | None = None,
) -> SearchResults:
    """Search for a session, and record the memories in the results.

    Visibility is checked again: the boundaries between projects do not depend on the search.
    """
    db, now = here.db, here.now()
    query = one_line(here.redact(request.query))
    await _bounded(db, searcher)
    request = replace(request, query=query, project=searcher.project)
    results = await find(db, request, now=now, near=near)
    inside = [each for each in results.results if is_visible(searcher.project, each.row)]
    results = replace(results, results=tuple(inside))
    async with writing(db):
        await _bounded(db, searcher)
        await _keep(db, searcher, query, results.memories, now=now)
    return results


async def read(here: Context, memory_id: int, searcher: SearchingSession) -> Memory:
    """Return one memory of the session's project, active or not; raises NotFound."""
    db, now = here.db, here.now()
    async with writing(db):
        await _bounded(db, searcher)
        existing = await memories.get(db, MemoryId(memory_id))
        found = existing if existing and is_visible(searcher.project, existing) else None
        await _keep(db, searcher, str(memory_id), [found] if found else [], now=now)
    return require(found, f"Memory {memory_id} not found.")


async def note_read(
    here: Context, searcher: SearchingSession, query: str, rows: Sequence[Memory]
) -> None:
    """Record that a session has read memories by a way other than its own search."""
    async with writing(here.db):
        await _bounded(here.db, searcher)
        await _keep(here.db, searcher, query, rows, now=here.now())


async def _bounded(db: Database, searcher: SearchingSession) -> None:
    if await searches.count(db, searcher.session_id) >= MAX_SEARCHES:
        raise Conflict(f"This session reached its limit of {MAX_SEARCHES} searches.")


async def _keep(
    db: Database, searcher: SearchingSession, query: str, found: Sequence[Memory], *, now: datetime
) -> None:
    hits = [RecordedHit(each.id, rank) for rank, each in enumerate(found, 1)]
    await searches.insert(db, searcher.session_id, searcher.tool, query, hits, now=now)
