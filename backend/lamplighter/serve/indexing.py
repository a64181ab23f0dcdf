"""The search index and the knowledge graph, updated in the background in short writes."""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from lamplighter import clock
from lamplighter.domain.errors import LamplighterError
from lamplighter.domain.services.service import Services
from lamplighter.repository import Database
from lamplighter.repository.search import index
from lamplighter.repository.store.driver import Error
from lamplighter.repository.upkeep.batches import writing_in_background
from lamplighter.serve import home
from lamplighter.usecases.graph.follow import follow

logger = logging.getLogger(__name__)

START_SECONDS: Final = 2.0  # the first page has priority after a start
SLICE_SECONDS: Final = 0.05
PAUSE_SECONDS: Final = 0.05
REST_SECONDS: Final = 2.0
RETRY_SECONDS: Final = 60.0
FOLLOW_SECONDS: Final = 1.0


@asynccontextmanager
async def indexing(db: Database, *, start: float = START_SECONDS) -> AsyncIterator[None]:
    """Index pending rows during this context."""
    async with home.repeating(lambda: index_batch(db), start=start):
        yield


async def index_batch(db: Database) -> float:
    """Index some of the pending rows, and return the pause before the next batch.

    During an import nothing is indexed: the import would take twice as long. A search indexes
    pending rows itself.
    """
    if db.bringing:
        return PAUSE_SECONDS
    try:
        taken = await index.catch_up(db, seconds=SLICE_SECONDS, write=writing_in_background)
    except (Error, TimeoutError) as error:
        logger.warning("Pending changes cannot be indexed now: %s", error)
        return RETRY_SECONDS
    return PAUSE_SECONDS if taken else REST_SECONDS


@asynccontextmanager
async def following(
    db: Database,
    services: Callable[[], Services] | None = None,
    *,
    start: float = START_SECONDS,
) -> AsyncIterator[None]:
    """Update the knowledge graph during this context."""
    async with home.repeating(lambda: follow_step(db, services), start=start):
        yield


async def follow_step(db: Database, services: Callable[[], Services] | None) -> float:
    """Run one step of the graph, and return the pause before the next; an import has priority."""
    if db.bringing:
        return FOLLOW_SECONDS
    try:
        more = await follow(db, services() if services else None, now=clock.now())
    except (Error, LamplighterError, TimeoutError) as error:
        logger.warning("The knowledge graph cannot be updated now: %s", error)
        return RETRY_SECONDS
    return PAUSE_SECONDS if more else FOLLOW_SECONDS
