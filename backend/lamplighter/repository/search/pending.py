"""The indexing of waiting rows."""

from collections.abc import Sequence
from typing import Final

import sqlalchemy as sa

from lamplighter.domain.memory.memory import Memory
from lamplighter.domain.search.search import SearchLayer
from lamplighter.domain.services.event import Event
from lamplighter.domain.sessions.session import Session
from lamplighter.domain.text import content_hash
from lamplighter.repository.feed import indexing
from lamplighter.repository.search.index import fetch_rows, in_layers
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.statements import Statement
from lamplighter.repository.store.tables import BASES, memories, terms, unindexed

_SET_HASH: Final = Statement(
    sa.update(memories)
    .where(memories.c.id == sa.bindparam("id_"))
    .values(content_hash=sa.bindparam("words"))
)


async def index_pending(db: Database, layers: Sequence[SearchLayer] = tuple(SearchLayer)) -> int:
    """Index the newest waiting rows and return their number; call it within `writing`."""
    count = 0
    for layer in layers:
        query = sa.select(unindexed.c.id).where(in_layers([layer])).order_by(unindexed.c.id.desc())
        waiting = await db.fetch_all(query.limit(indexing.BATCH_SIZE - count))
        ids = [row["id"] - BASES[layer] for row in waiting]
        if ids:
            await _index_rows(db, layer, ids)
            count += len(ids)
        if count >= indexing.BATCH_SIZE:
            break
    return count


async def _index_rows(db: Database, layer: SearchLayer, ids: list[int]) -> None:
    held = (await fetch_rows(db, [each + BASES[layer] for each in ids])).values()
    taken = [each for each in held if isinstance(each, Memory)]
    await indexing.index_memories(db, taken)
    await _rehash(db, taken)
    for each in held:
        if isinstance(each, Event):
            await indexing.put(db, indexing.event_entry(each))
        elif isinstance(each, Session):
            await _index_session(db, each)
    noted = [each + BASES[layer] for each in ids]
    await db.execute(sa.delete(unindexed).where(unindexed.c.id.in_(noted)))


async def _rehash(db: Database, several: Sequence[Memory]) -> None:
    """Update the hash of texts that were written outside the app, because comparisons use it."""
    for each in several:
        words = content_hash(each.observation)
        if each.content_hash != words:
            await db.execute(_SET_HASH(id_=each.id, words=words))


async def _index_session(db: Database, session: Session) -> None:
    entry = indexing.session_entry(session)
    if session.summary:
        await indexing.put(db, entry)
    else:
        await db.execute(sa.delete(terms).where(terms.c.id == entry.id))
