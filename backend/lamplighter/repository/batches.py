"""Work on many rows as a row of short writes, between which others get their turn."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Final

from lamplighter.repository.database import Database, writing

FIRST: Final = 250
LARGEST: Final = 1_000
WORK_SECONDS: Final = 0.012
REST: Final = 0.65
"""Of the time that a batch held the right to write. A writer of another process on SQLite asks
again after 1, 2, 5, 10 and 15 ms: with so long a pause it is sure to find one of the first."""

Work = Callable[[Sequence[int]], Awaitable[list[int]]]


async def in_batches(
    db: Database, ids: Sequence[int], work: Work, *, first: int = FIRST
) -> list[int]:
    """Do `work` on a few of the numbers at a time, each time in a write of its own.

    Returns all that it returns. What was done stays done when a later batch fails.
    """
    done: list[int] = []
    async for batch in _batches(db, ids, first):
        async with writing(db):
            done += await work(batch)
    return done


async def _batches(db: Database, ids: Sequence[int], size: int) -> AsyncIterator[Sequence[int]]:
    """Cut so that each takes about as long as it may, whatever the machine."""
    at = 0
    while at < len(ids):
        began = time.perf_counter()
        yield ids[at : at + size]
        taken = time.perf_counter() - began
        at += size
        size = max(1, min(LARGEST, round(size * min(2.0, WORK_SECONDS / taken))))
        if at < len(ids) and not db.in_transaction:
            # PostgreSQL lets writers in by the order in which they came
            await asyncio.sleep(0 if db.notifies else REST * taken)
