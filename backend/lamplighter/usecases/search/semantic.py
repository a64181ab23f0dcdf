"""Semantic search: the memories nearest to a query by their embeddings."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from lamplighter.domain.errors import Unavailable
from lamplighter.domain.search.search import (
    UNINDEXED,
    VECTORS,
    SearchLayer,
    SearchRequest,
    SemanticIndex,
)
from lamplighter.domain.search.semantic import IndexProgress
from lamplighter.embedding import Embedding, Vector
from lamplighter.repository import Database
from lamplighter.repository.search import embeddings, index
from lamplighter.repository.search.index import Deadline, DeadlineExceeded, time_limit
from lamplighter.repository.store import changes

if TYPE_CHECKING:
    from lamplighter.embedding.codes import VectorCodes, VectorFilter

READ_BATCH_SIZE: Final = 2_000
MAX_FOLLOWED: Final = 500
RESCORED: Final = 240
WITHIN_SECONDS: Final = 0.25
COUNT_SECONDS: Final = 5.0
CACHED_QUERIES: Final = 64
MAX_WAITING: Final = 8
"""The most queries that wait for their vector; with more the model could never catch up."""

LOADING: Final = "The embedding model is loading."
MIN_COVERAGE: Final = 0.9
"""Below this share, embedded memories would rank first just for having a vector."""


@dataclass(slots=True)
class LoadedCodes:
    """The codes of all vectors, and the positions up to which they include rows and changes."""

    codes: "VectorCodes"
    newest: int = 0
    seq: int = 0
    total: int = 0
    counted: float = 0.0


@dataclass(slots=True)
class SemanticSearch:
    """Finds memories by embeddings; they are loaded once and then updated from the feed.

    It answers within `within` seconds or raises TimeoutError. It raises Unavailable if it cannot
    answer, or while many memories have no embedding: then only keywords are searched.
    """

    db: Database
    embedding: Embedding
    within: float = WITHIN_SECONDS
    enough: float = MIN_COVERAGE
    _one: asyncio.Lock = field(default_factory=asyncio.Lock)
    _reading: asyncio.Task[LoadedCodes] | None = None
    _loading: asyncio.Task[None] | None = None
    _pending: dict[str, asyncio.Task[Vector]] = field(default_factory=dict)

    async def __call__(
        self, query: str, ids: Sequence[int] | None = None, *, request: SearchRequest | None = None
    ) -> Sequence[tuple[int, float]]:
        """Return the memories nearest to a text with their similarity, nearest first.

        With `ids` only those are compared, and each of them with an embedding is returned;
        otherwise the likely nearest of those that match the `request`.
        """
        if ids is not None and not ids:
            return []
        if not self.ready:
            self._get_ready()
            raise Unavailable(LOADING)
        deadline = Deadline(self.within)
        vector = await self._vector(query, deadline)
        try:
            if ids is None:
                known = await self._follow(deadline)
                if self.progress.share < self.enough:
                    raise Unavailable("Too few memories have embeddings yet.")
                ids = known.codes.nearest(vector, RESCORED, _code_filter(request))
            async with time_limit(self.db, deadline):
                return await self._compared(vector, ids)
        except DeadlineExceeded as late:
            raise TimeoutError from late

    @property
    def ready(self) -> bool:
        """Whether the model and the codes are loaded: otherwise a search would wait."""
        return self.embedding.loaded and self._ready is not None

    @property
    def progress(self) -> IndexProgress:
        """How many memories have an embedding that is loaded."""
        known = self._ready
        return IndexProgress(len(known.codes), known.total) if known else IndexProgress(0, 0)

    @property
    def nbytes(self) -> int:
        """The size of the codes in bytes."""
        return self._ready.codes.nbytes if self._ready else 0

    @property
    def _ready(self) -> LoadedCodes | None:
        task = self._reading
        read = task is not None and task.done() and not task.cancelled() and not task.exception()
        return task.result() if task and read else None

    def close(self) -> None:
        """Stop loading, pending queries and the model."""
        if self._loading is not None:
            self._loading.cancel()
        for each in self._pending.values():
            each.cancel()
        if self._reading is not None:
            self._reading.cancel()
        self.embedding.close()

    async def prepare(self, *, aside: bool = True) -> None:
        """Load the model and the codes before the first search."""
        await self.embedding.embed(["ready"], aside=aside)
        await asyncio.shield(self._begun())

    def _get_ready(self) -> None:
        """Load the model in the background: searches do not wait for it."""
        if self._loading is None or self._loading.done():
            self._loading = asyncio.create_task(self.prepare(aside=False))
            self._loading.add_done_callback(_consume_exception)

    async def _vector(self, query: str, deadline: Deadline) -> Vector:
        """Return the vector of a query; after a timeout the next call finds it cached."""
        task = self._pending.get(query)
        if task is None or (task.done() and (task.cancelled() or task.exception())):
            if sum(not each.done() for each in self._pending.values()) >= MAX_WAITING:
                raise TimeoutError
            task = self._pending[query] = asyncio.create_task(self._embedded(query))
            task.add_done_callback(_consume_exception)
            if len(self._pending) > CACHED_QUERIES:
                self._pending.pop(next(iter(self._pending)))
        async with asyncio.timeout(deadline.left):
            return await asyncio.shield(task)

    async def _embedded(self, query: str) -> Vector:
        (vector,) = await self.embedding.embed([query])
        return vector

    async def _compared(self, vector: Vector, ids: Sequence[int]) -> list[tuple[int, float]]:
        """Compare a vector with the full vectors of memories."""
        from lamplighter.embedding.codes import unpack_vectors

        kept = await embeddings.vectors(self.db, self.embedding.name, ids)
        if not kept:
            return []
        near = unpack_vectors([each for _, each in kept], self.embedding.dimensions) @ vector
        found = zip((number for number, _ in kept), map(float, near), strict=True)
        return sorted(found, key=lambda each: (-each[1], each[0]))

    async def _follow(self, deadline: Deadline) -> LoadedCodes:
        """Return the current codes; after too many changes they are loaded again."""
        while True:
            codes = await self._whole(deadline)
            # connection first: the holder of the lock must never wait for a connection
            async with time_limit(self.db, deadline), self._one:
                heard = await embeddings.changes_after(self.db, codes.seq, most=MAX_FOLLOWED)
                if not heard.anew:
                    await self._catch_up(codes, heard)
                    return codes
            self._reading = None

    async def _whole(self, deadline: Deadline) -> LoadedCodes:
        """Return the loaded vectors. Loading continues after a timeout, for the next call."""
        async with asyncio.timeout(deadline.left):
            return await asyncio.shield(self._begun())

    def _begun(self) -> asyncio.Task[LoadedCodes]:
        """Return the task that loads the codes; start it again if it failed."""
        task = self._reading
        if task is None or (task.done() and (task.cancelled() or task.exception())):
            task = self._reading = asyncio.create_task(self._read())
        return task

    async def _read(self) -> LoadedCodes:
        from lamplighter.embedding.codes import VectorCodes

        known = LoadedCodes(
            VectorCodes(self.embedding.dimensions), seq=await changes.last_seq(self.db)
        )
        await self._add_newer(known)
        return known

    async def _catch_up(self, codes: LoadedCodes, changes: embeddings.FollowedChanges) -> None:
        if changes.ids:
            codes.codes.drop(changes.ids)
            again = await embeddings.stored_by_ids(
                self.db, self.embedding.name, sorted(changes.ids)
            )
            codes.codes.put(again)
        codes.seq = changes.seq
        await self._add_newer(codes)
        if time.monotonic() - codes.counted > COUNT_SECONDS:
            codes.total = await embeddings.count_memories(self.db)
            codes.counted = time.monotonic()

    async def _add_newer(self, codes: LoadedCodes) -> None:
        name = self.embedding.name
        while rows := await embeddings.newer(
            self.db, name, after=codes.newest, limit=READ_BATCH_SIZE
        ):
            codes.codes.put(rows)
            codes.newest = rows[-1].id
            await asyncio.sleep(0)


def _consume_exception(task: asyncio.Task[Any]) -> None:
    """Mark the exception of a task as retrieved; the next caller gets the error."""
    if not task.cancelled():
        task.exception()


def _code_filter(request: SearchRequest | None) -> "VectorFilter":
    from lamplighter.embedding.codes import VectorFilter

    if request is None:
        return VectorFilter(active=None)
    return VectorFilter(
        active=request.active,
        project=request.project,
        service=request.service,
        general=request.general,
        categories=request.categories,
    )


async def missing_parts(db: Database, near: SemanticIndex | None) -> list[str]:
    """Return the parts that a search made now would leave out, without waiting."""
    waiting = await index.has_pending(db, [SearchLayer.MEMORY])
    loading = isinstance(near, SemanticSearch) and not near.ready
    return [*([UNINDEXED] if waiting else []), *([VECTORS] if loading else [])]
