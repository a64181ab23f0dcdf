"""The knowledge graph in the background: follows what is stored, in short writes."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

from lamplighter import clock
from lamplighter.domain.errors import LamplighterError
from lamplighter.domain.services.service import Services
from lamplighter.repository import Database
from lamplighter.repository.store.driver import Error
from lamplighter.usecases.graph.follow import follow

logger = logging.getLogger(__name__)

START_SECONDS: Final = 2.0
PAUSE_SECONDS: Final = 0.02
REST_SECONDS: Final = 1.0
RETRY_SECONDS: Final = 60.0


@asynccontextmanager
async def following(
    db: Database,
    services: Callable[[], Services] | None = None,
    *,
    start: float = START_SECONDS,
) -> AsyncIterator[None]:
    """Keep the graph in step as long as this lasts."""
    task = asyncio.create_task(_run(db, services, start))
    yield
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def _run(db: Database, services: Callable[[], Services] | None, start: float) -> None:
    await asyncio.sleep(start)
    while True:
        rest = await follow_step(db, services)
        await asyncio.sleep(rest)


async def follow_step(db: Database, services: Callable[[], Services] | None) -> float:
    """Take one step, and return for how long to rest; an import goes first."""
    if db.bringing:
        return REST_SECONDS
    try:
        worked = await follow(db, services() if services else None, now=clock.now())
    except (Error, LamplighterError, TimeoutError) as error:
        logger.warning("The knowledge graph cannot be updated now: %s", error)
        return RETRY_SECONDS
    return PAUSE_SECONDS if worked else REST_SECONDS
