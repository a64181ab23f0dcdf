"""The product as shipped: real memories in a real database, found by its one search."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

import numpy as np
import sqlalchemy as sa

from benchmarks.quality.clients import kept
from benchmarks.quality.sets import BEGAN, NOTES, Entry, Set, Way
from lamplighter.domain.memory.memory import Candidate, Category
from lamplighter.domain.search.search import SearchLayer, SearchRequest
from lamplighter.embedding import Vector
from lamplighter.embedding.codes import unpack_vectors
from lamplighter.embedding.minilm import MiniLM
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import memories
from lamplighter.repository.search import embeddings
from lamplighter.repository.store.database import sqlite_url
from lamplighter.repository.store.tables import sessions
from lamplighter.repository.upkeep import migrate
from lamplighter.usecases.search.embed import Embedder
from lamplighter.usecases.search.semantic import SemanticSearch
from lamplighter.usecases.search.session_search import find

MOST: Final = 30
NOW: Final = BEGAN + timedelta(days=400)
AT_ONCE: Final = 200


@dataclass(frozen=True, slots=True)
class Filled:
    """A database with the entries of a set, and the numbers of their memories in order."""

    db: Database
    near: SemanticSearch
    ids: tuple[int, ...]

    async def vectors(self) -> Vector:
        """Return the vectors of the entries, of length 1 and in their order."""
        kept = dict(await embeddings.vectors(self.db, self.near.embedding.name, self.ids))
        found = unpack_vectors([kept[each] for each in self.ids], self.near.embedding.dimensions)
        lengths: Vector = np.linalg.norm(found, axis=1, keepdims=True)
        return found / lengths

    async def asked(self, found: Set) -> Vector:
        """Return the vectors of the questions."""
        return np.stack(await self.near.embedding.embed([each.text for each in found.questions]))

    def way(self, found: Set, *, meaning: bool) -> Callable[[int], Awaitable[list[int]]]:
        """Return the search of the product, with or without semantic search."""
        places = {number: at for at, number in enumerate(self.ids)}

        async def order(number: int) -> list[int]:
            query = found.questions[number].text
            project = found.questions[number].project or found.name
            wanted = SearchRequest(
                query=query, layers=(SearchLayer.MEMORY,), project=project, limit=MOST
            )
            near = self.near if meaning else None
            results = await find(self.db, wanted, now=NOW, near=near)
            return [places[each.id] for each in results.memories if each.id in places]

        return order


@asynccontextmanager
async def filled(directory: Path, found: Set, model: MiniLM) -> AsyncIterator[Filled]:
    """Store the entries of a set as memories, as clients would, and embed them."""
    url = sqlite_url(directory / f"{found.name}.db")
    migrate.upgrade(url)
    async with Database(url) as db:
        ids = await (_kept(db, found) if _are_rows(found) else kept(db, found.entries, now=NOW))
        embedder = Embedder(db, model, lambda: NOW)
        await embedder.begin()
        while await embedder.step():
            pass
        near = SemanticSearch(db, model, within=60)
        await near.prepare()
        yield Filled(db, near, tuple(ids))


def _are_rows(found: Set) -> bool:
    return all(each.way is Way.ROW for each in found.entries)


async def _kept(db: Database, found: Set) -> list[int]:
    ids: list[int] = []
    async with writing(db):
        for number in sorted({e.session for e in found.entries if e.session is not None}):
            await db.execute(sa.insert(sessions).values(_session(number)))
    for start in range(0, len(found.entries), AT_ONCE):
        async with writing(db):
            for each in found.entries[start : start + AT_ONCE]:
                memory = await memories.insert(db, _candidate(found, each), now=each.at)
                ids.append(memory.id)
    return ids


def _candidate(found: Set, each: Entry) -> Candidate:
    return Candidate(
        category=Category.DISCOVERY if found.name == NOTES else Category.LEARNING,
        service=each.service,
        observation=each.text,
        project=found.name,
        tier=0,
        session_id=None if each.session is None else each.session + 1,
    )


def _session(number: int) -> dict[str, object]:
    return {
        "id": number + 1,
        "project": "talks",
        "tier": 0,
        "engine": "client",
        "trigger": "client",
        "status": "completed",
        "reason": "",
        "prompt": "",
        "dry_run": False,
        "started_at": BEGAN,
        "response": "",
        "summary": "",
        "log_offset": 0,
        "learned": 0,
        "reinforced": 0,
        "events": 0,
        "ignored": 0,
        "leader_epoch": 0,
        "version": 1,
        "resumed": 0,
    }
