"""Work on many rows in a series of short writes, between which other writers can proceed."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final

from lamplighter.repository.store.database import Database, writing

FIRST: Final = 500
FEWEST, MOST = 200, 1_500
LEAST_REST_SECONDS: Final = 0.003
WORK_SECONDS: Final = 0.014
REST_SECONDS: Final = 0.010
"""The pause for other writers between two batches.

A writer of another process on SQLite retries after 1, 2, 5, 10 and 15 ms: a writer that has waited
less than 18 ms is certain to retry within this pause of 10 ms.
"""

Work = Callable[[Sequence[int]], Awaitable[list[int]]]
Prepare = Callable[[Sequence[int]], object]
Write = Callable[[Database], AbstractAsyncContextManager[None]]


async def in_batches(
    db: Database,
    ids: Sequence[int],
    work: Work,
    *,
    first: int = FIRST,
    prepare: Prepare = lambda some: None,
) -> list[int]:
    """Do `work` on a few of the IDs at a time, each time in a separate write.

    `prepare` is called with them before: work that needs no database is done while others write.
    The size of the batches adapts to the speed of the machine. Returns all results of `work`.
    Completed batches stay when a later batch fails.
    """
    done: list[int] = []
    at, size, fewest = 0, first, min(first, FEWEST)
    prepare(ids[:size])
    while at < len(ids):
        async with writing(db):
            began = time.perf_counter()
            done += await work(ids[at : at + size])
            worked = time.perf_counter() - began
        at += size
        size = max(fewest, min(MOST, round(size * min(2.0, WORK_SECONDS / worked))))
        if at < len(ids):
            prepare(ids[at : at + size])
            await _rest(db, REST_SECONDS - (time.perf_counter() - began - worked))
    return done


@asynccontextmanager
async def writing_in_background(db: Database) -> AsyncIterator[None]:
    """Write what nobody waits for, and rest as long as it took; within a transaction, join it.

    The writes of several tasks could follow each other without a pause. Another process, which
    cannot queue for a SQLite file, would then find no moment to write.
    """
    if db.in_transaction:
        yield
        return
    async with db.background:
        async with writing(db):
            began = time.perf_counter()
            yield
        await _rest(db, time.perf_counter() - began)


async def _rest(db: Database, seconds: float) -> None:
    """Let others write; the end of a commit, when SQLite cleans up, is such a time too."""
    if db.in_transaction:
        return
    # PostgreSQL queues writers in order of arrival
    await asyncio.sleep(0 if db.notifies else max(LEAST_REST_SECONDS, seconds))
