"""Embeddings of memories, computed in the background and stored in short writes."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from lamplighter.domain.errors import Unavailable
from lamplighter.domain.search.semantic import IndexProgress, embedding_text, length_weight
from lamplighter.embedding import Embedding
from lamplighter.repository import Database, writing
from lamplighter.repository.search import embeddings
from lamplighter.repository.search.embeddings import UnembeddedMemory
from lamplighter.repository.store import changes
from lamplighter.repository.store.driver import Error
from lamplighter.repository.upkeep.batches import writing_in_background

logger = logging.getLogger(__name__)

BATCH_SIZE: Final = 8
"""Small, to store results soon even on a busy machine."""
MAX_FOLLOWED: Final = 500
PAUSE_SECONDS: Final = 0.01
POLL_SECONDS: Final = 1.0
RETRY_SECONDS: Final = 5.0
NO_END: Final = 2**62


@dataclass(slots=True)
class Embedder:
    """Embeds memories without a vector, the newest first, and then new and changed ones.

    A restart continues with the memories that have no row yet. Each step embeds a few at low
    priority and stores them in one short write.
    """

    db: Database
    embedding: Embedding
    now: Callable[[], datetime]
    pause: float = PAUSE_SECONDS
    done: int = 0
    problem: str = ""
    _before: int = NO_END
    _newest: int = 0
    _seq: int = 0
    _changed: set[int] = field(default_factory=set)

    async def begin(self) -> None:
        """Start with all existing memories."""
        async with writing(self.db):
            await embeddings.remove_orphans(self.db)
            self._seq = await changes.last_seq(self.db)
            self._newest = await embeddings.newest_id(self.db)
        self._before = NO_END
        self._changed.clear()

    async def step(self) -> bool:
        """Embed a few memories; return whether there were any."""
        found = await self._older() if self._before else []
        found = found or await self._heard()
        if found:
            await self._keep(found)
        return bool(found)

    async def run(self) -> None:
        """Embed until cancelled; failed steps are retried."""
        begun = False
        while True:
            rest = POLL_SECONDS
            try:
                if not begun:
                    await self.begin()
                    begun = True
                rest = self.pause if await self.step() else POLL_SECONDS
                self.problem = ""
            except (Error, TimeoutError) as error:
                logger.warning("Could not store embeddings: %s", error)
                begun, rest = False, RETRY_SECONDS
            except Unavailable as error:
                self.problem = str(error)
                logger.error("Semantic search is not available: %s", error)
                return
            await asyncio.sleep(rest)

    async def progress(self) -> IndexProgress:
        """Return how many memories have an embedding."""
        return await embeddings.progress(self.db, self.embedding.name)

    async def _older(self) -> list[UnembeddedMemory]:
        """Return the next existing memories, in descending order of ID."""
        found = await embeddings.list_unembedded(
            self.db, self.embedding.name, before=self._before, limit=BATCH_SIZE
        )
        self._before = found[-1].id if found else 0
        return found

    async def _heard(self) -> list[UnembeddedMemory]:
        """Return the rows changed since; changes made outside the app are not in the feed."""
        heard = await embeddings.changes_after(self.db, self._seq, most=MAX_FOLLOWED)
        newest = await embeddings.newest_id(self.db)
        if heard.anew or newest - self._newest > MAX_FOLLOWED:
            await self.begin()
            return await self._older()
        self._changed |= heard.ids | set(range(self._newest + 1, newest + 1))
        self._seq, self._newest = heard.seq, newest
        while self._changed:
            asked = sorted(self._changed)[:BATCH_SIZE]
            self._changed.difference_update(asked)
            found = await embeddings.list_unembedded(self.db, self.embedding.name, among=asked)
            if found:
                return found
        return []

    async def _keep(self, batch: Sequence[UnembeddedMemory]) -> None:
        from lamplighter.embedding.codes import binary_code, pack_vector

        texts = [
            embedding_text(service=each.service, title=each.title, observation=each.observation)
            for each in batch
        ]
        vectors = await self.embedding.embed(texts, aside=True)
        rows = [
            (each, binary_code(vector), pack_vector(vector * length_weight(text)))
            for each, text, vector in zip(batch, texts, vectors, strict=True)
        ]
        async with writing_in_background(self.db):
            self.done += await embeddings.put(self.db, self.embedding.name, rows, now=self.now())
