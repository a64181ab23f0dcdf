"""Rows that wait to be indexed: written outside the app, in bulk, or long ago."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Final

import sqlalchemy as sa

from lamplighter.domain.memory.memory import Memory
from lamplighter.domain.search.search import SearchLayer
from lamplighter.domain.services.event import Event
from lamplighter.domain.sessions.session import Session
from lamplighter.domain.text import content_hash
from lamplighter.repository.feed import indexing
from lamplighter.repository.search.deadline import Deadline
from lamplighter.repository.search.index import fetch_rows
from lamplighter.repository.store.database import Database, writing
from lamplighter.repository.store.driver import OperationalError
from lamplighter.repository.store.statements import Statement
from lamplighter.repository.store.tables import BASES, STEP, memories, terms, unindexed

_ANY_PENDING: Final = Statement(
    sa.select(unindexed.c.id)
    .where(unindexed.c.id.between(sa.bindparam("low"), sa.bindparam("high")))
    .limit(1)
)

_SET_HASH: Final = Statement(
    sa.update(memories)
    .where(memories.c.id == sa.bindparam("id_"))
    .values(content_hash=sa.bindparam("words"))
)


async def has_pending(db: Database, layers: Sequence[SearchLayer] = tuple(SearchLayer)) -> bool:
    """Whether anything of some layers waits."""
    for low, high in _ranges(layers):
        if await db.fetch_one(_ANY_PENDING(low=low, high=high)) is not None:
            return True
    return False


def _ranges(layers: Sequence[SearchLayer]) -> list[tuple[int, int]]:
    """Return the ranges of the numbers of some layers; those of neighbors are one."""
    found: list[tuple[int, int]] = []
    for base in sorted(BASES[each] for each in layers):
        low = found.pop()[0] if found and found[-1][1] == base - 1 else base
        found.append((low, base + STEP - 1))
    return found


async def count_pending(db: Database, layers: Sequence[SearchLayer], *, most: int) -> int:
    """Return how many rows of some layers wait, and count no more than `most`."""
    waiting = sa.select(unindexed.c.id).where(_in_layers(layers)).limit(most).subquery()
    return int(await db.fetch_val(sa.select(sa.func.count()).select_from(waiting)))


async def index_pending(
    db: Database,
    layers: Sequence[SearchLayer] = tuple(SearchLayer),
    *,
    most: int = indexing.BATCH_SIZE,
) -> int:
    """Index the newest of what waits; call it within `writing`. Returns how many."""
    count = 0
    for layer in layers:
        query = sa.select(unindexed.c.id).where(_in_layers([layer])).order_by(unindexed.c.id.desc())
        waiting = await db.fetch_all(query.limit(most - count))
        ids = [row["id"] - BASES[layer] for row in waiting]
        if ids:
            await _index_rows(db, layer, ids)
            count += len(ids)
        if count >= most:
            break
    return count


async def catch_up(
    db: Database, layers: Sequence[SearchLayer] = tuple(SearchLayer), *, seconds: float
) -> int:
    """Index what waits, in short writes, for so long at most; returns how many rows.

    Where nothing can be written now they wait on.
    """
    deadline, taken = Deadline(seconds), 0
    with suppress(OperationalError):
        while deadline.left and await has_pending(db, layers):
            async with writing(db):
                taken += await index_pending(db, layers)
    return taken


async def catch_up_within(db: Database, layers: Sequence[SearchLayer], *, seconds: float) -> None:
    """Index what waits, and wait so long for it at most: another may be writing meanwhile.

    A write that could not begin until then is not given up; the next search finds it done.
    """
    if db.taking_in is None:
        if not await has_pending(db, layers):
            return
        db.taking_in = asyncio.create_task(catch_up(db, layers, seconds=seconds))
        db.taking_in.add_done_callback(partial(_finish_task, db))
    done, _ = await asyncio.wait({db.taking_in}, timeout=seconds)
    for each in done:
        each.result()


def _finish_task(db: Database, task: asyncio.Task[int]) -> None:
    db.taking_in = None
    if not task.cancelled():
        task.exception()  # the task that waited for it gets it


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
    """Update the hash of text that was written outside the app: comparisons use it."""
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


def _in_layers(layers: Sequence[SearchLayer]) -> sa.ColumnElement[bool]:
    ranges = (unindexed.c.id.between(BASES[each], BASES[each] + STEP - 1) for each in layers)
    return sa.or_(sa.false(), *ranges)
