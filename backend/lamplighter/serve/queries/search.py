"""The search."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from lamplighter import clock
from lamplighter.domain.errors import Unavailable
from lamplighter.domain.memory.memory import Category, MemoryKind
from lamplighter.domain.search.search import SearchLayer, SearchRequest
from lamplighter.formats.search_results import search_results
from lamplighter.repository.search import index
from lamplighter.usecases.search.find import find

if TYPE_CHECKING:
    from lamplighter.serve.queries import QueryContext

CATCHING_SECONDS: Final = 5.0
PREPARING_SECONDS: Final = 5.0
SEARCH_SECONDS: Final = 2.0


async def search(
    here: "QueryContext",
    *,
    query: str,
    layers: Sequence[str],
    limit: int,
    inactive_too: bool,
    **narrowed: str | None,
) -> dict[str, Any]:
    """Search everything; a person waits for rows that are not indexed yet."""
    category, kind = narrowed["category"], narrowed["kind"]
    request = SearchRequest(
        query=query,
        layers=tuple(map(SearchLayer, layers)),
        project=narrowed["project"],
        service=narrowed["service"],
        categories=(Category(category),) if category else (),
        kind=MemoryKind(kind) if kind else None,
        active=None if inactive_too else True,
        limit=limit,
    )
    await index.catch_up(here.db, request.layers, seconds=CATCHING_SECONDS)
    with here.semantic() as near:
        if near is not None:
            with suppress(TimeoutError, Unavailable):
                async with asyncio.timeout(PREPARING_SECONDS):
                    await near.prepare()
        now = clock.now()
        found = await find(here.db, request, now=now, near=near, seconds=SEARCH_SECONDS)
    return {
        "results": search_results(found),
        "holds_no_word": found.holds_no_word,
        "left_out": found.left_out,
    }
