"""The index of the search in the background: what waits is taken in, in short writes."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from lamplighter.repository import Database
from lamplighter.repository.search import backlog
from lamplighter.repository.store.driver import Error

logger = logging.getLogger(__name__)

START_SECONDS: Final = 2.0  # who has just started wants the first page first
SLICE_SECONDS: Final = 0.05
PAUSE_SECONDS: Final = 0.05
REST_SECONDS: Final = 2.0
RETRY_SECONDS: Final = 60.0


@asynccontextmanager
async def indexing(db: Database, *, start: float = START_SECONDS) -> AsyncIterator[None]:
    """Take in what waits as long as this lasts."""
    task = asyncio.create_task(run(db, start=start))
    yield
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def index_batch(db: Database) -> float:
    """Take in some of what waits, and return for how long to rest.

    Nothing while an import is at work here: it would take twice as long. A search that
    somebody asks meanwhile takes in what waits by itself.
    """
    if db.bringing:
        return PAUSE_SECONDS
    try:
        taken = await backlog.catch_up(db, seconds=SLICE_SECONDS)
    except (Error, TimeoutError) as error:
        logger.warning("Pending changes cannot be indexed now: %s", error)
        return RETRY_SECONDS
    return PAUSE_SECONDS if taken else REST_SECONDS


async def run(db: Database, *, start: float = START_SECONDS) -> None:
    """Take in what waits, again and again; between two writes others have their turn."""
    await asyncio.sleep(start)
    while True:
        rest = await index_batch(db)
        await asyncio.sleep(rest)
