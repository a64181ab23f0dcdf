"""Semantic search in a process, and the single process that computes embeddings."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lamplighter import clock, embedding
from lamplighter.config.settings import Settings
from lamplighter.domain.errors import LamplighterError
from lamplighter.domain.search import semantic as rules
from lamplighter.domain.search.search import NoSemanticSearch, SemanticIndex
from lamplighter.domain.search.semantic import IndexProgress
from lamplighter.domain.services.vitals import VitalSign
from lamplighter.repository import Database
from lamplighter.repository.search import embeddings
from lamplighter.repository.store import driver
from lamplighter.repository.store.database import file_of, is_postgres
from lamplighter.serve import home
from lamplighter.serve.semantic.finder import semantic_finder, why_not
from lamplighter.supervisor.lease import Lease, Lock
from lamplighter.usecases.search.embed import Embedder
from lamplighter.usecases.search.semantic import SemanticSearch

logger = logging.getLogger(__name__)

SUFFIX: Final = ".vectors.lock"
START_SECONDS: Final = 10.0  # the first page has priority after a start
LOCK_SECONDS: Final = 5.0
PROGRESS_SECONDS: Final = 0.2

ShowProgress = Callable[[IndexProgress], None]


@dataclass(slots=True)
class SemanticService:
    """The semantic search of a web process: answers searches, and embeds new memories."""

    settings: Settings
    db: Database
    near: SemanticSearch | None
    embedder: Embedder | None = None
    start: float = START_SECONDS

    @property
    def answers(self) -> SemanticIndex | None:
        """The semantic part of searches: reports a missing model, or None when turned off."""
        if self.near is not None or self.settings.vectors == "off":
            return self.near
        return NoSemanticSearch(why_not(self.settings))

    async def sign(self) -> VitalSign:
        """Return its status."""
        if self.near is None:
            return rules.judge_index(None, why_not=why_not(self.settings))
        found = await embeddings.progress(self.db, self.near.embedding.name)
        return rules.judge_index(found, problem=self.embedder.problem if self.embedder else "")

    async def run(self) -> None:
        """Embed memories as soon as no other process does; then until cancelled."""
        if self.embedder is None:
            return
        await asyncio.sleep(self.start)
        await self._prepare()
        async with _exclusive_lock(self.settings):
            await self.embedder.run()

    async def _prepare(self) -> None:
        """Load the model for the first search, if there are embeddings."""
        try:
            if self.near is not None and await embeddings.count_memories(self.db):
                await self.near.prepare()
        except (LamplighterError, driver.Error, TimeoutError) as error:
            logger.warning("Semantic search is not available now: %s", error)


@asynccontextmanager
async def semantic_service(
    settings: Settings, db: Database, *, start: float = START_SECONDS
) -> AsyncIterator[SemanticService]:
    """Provide semantic search, and embed memories in the background, if a model is installed."""
    finder = semantic_finder(settings, db)
    embedder = None if finder is None else Embedder(db, finder.embedding, clock.now)
    here = SemanticService(settings, db, finder, embedder, start)
    try:
        async with home.running(here.run()):
            yield here
    finally:
        if finder is not None:
            finder.close()


def backfill(settings: Settings, show: ShowProgress) -> IndexProgress:
    """Embed all memories now, or follow the process that does; show the progress."""
    home.prepare(settings)
    return asyncio.run(_backfill(settings, show))


async def _backfill(settings: Settings, show: ShowProgress) -> IndexProgress:
    model = embedding.installed_model()
    assert model is not None
    async with home.database(settings) as db:
        lock = _lock(settings)
        embedder = Embedder(db, model, clock.now)
        try:
            if await lock.take():
                await embedder.begin()
                while await embedder.step():
                    show(await embedder.progress())
            else:
                await _follow_progress(embedder, show)
            return await embedder.progress()
        finally:
            await lock.release()
            model.close()


async def _follow_progress(embedder: Embedder, show: ShowProgress) -> None:
    """Show the progress of another process until its end."""
    while not (found := await embedder.progress()).whole:
        show(found)
        await asyncio.sleep(PROGRESS_SECONDS)


@asynccontextmanager
async def _exclusive_lock(settings: Settings) -> AsyncIterator[None]:
    """Wait for the lock of the embedding process, and hold it."""
    lock = _lock(settings)
    try:
        await _wait_for(lock)
        yield
    finally:
        await lock.release()


async def _wait_for(lock: Lease) -> None:
    while True:
        try:
            if await lock.take():
                return
        except (LamplighterError, driver.Error) as error:
            logger.warning("Embeddings cannot be computed now: %s", error)
        await asyncio.sleep(LOCK_SECONDS)


def _lock(settings: Settings) -> Lease:
    url = settings.database_url
    if is_postgres(url):
        from lamplighter.repository.store.postgres import EMBEDDER
        from lamplighter.repository.upkeep.lease_postgres import PostgresLock

        return PostgresLock(url, EMBEDDER)
    return Lock(Path(f"{file_of(url)}{SUFFIX}"))
