"""Row counts, cached for a short time or until the database changes."""

import asyncio
import time
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from lamplighter.repository import Database, reading
from lamplighter.repository.memory import memories
from lamplighter.repository.memory.memories import MemoryFilter
from lamplighter.repository.store.driver import Error
from lamplighter.repository.upkeep.statistics import StoreFigures, collect_figures

CACHE_SECONDS: Final = 15.0
TIMEOUT_SECONDS: Final = 5.0
KEPT_SECONDS: Final = 5.0
"""The maximum age: a server does not announce changes that other programs make to rows."""
MAX_KEPT: Final = 256


@dataclass(slots=True)
class CountCache:
    """The last count, and its time; None if rows cannot be counted."""

    figures: StoreFigures | None = None
    counted_at: float | None = None
    one: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def at(self, db: Database, now: datetime) -> StoreFigures | None:
        """Return the figures, counted again when they are too old."""
        async with self.one:
            if self.counted_at is None or time.monotonic() - self.counted_at > CACHE_SECONDS:
                self.figures = await _count_rows(db, now)
                self.counted_at = time.monotonic()
            return self.figures


async def _count_rows(db: Database, now: datetime) -> StoreFigures | None:
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS), reading(db):
            return await collect_figures(db, now=now)
    except (Error, TimeoutError):
        return None


@dataclass(slots=True)
class MatchCounts:
    """How many memories match each filter, cached while the database does not change.

    A view shows one state of the database if the number of commits was equal before and after the
    view was read. PostgreSQL has no such number: there, the last change of the feed in the view is
    used.
    """

    _counts: dict[MemoryFilter, int] = field(default_factory=dict)
    _state: tuple[int, int] = (-1, -1)
    _kept_at: float = 0.0

    async def count(
        self, db: Database, selection: MemoryFilter, *, before: int, after: int, seq: int
    ) -> int:
        """Return how many match in the view that this task reads.

        `before` and `after` are the numbers of commits; the view holds the changes up to `seq`.
        """
        if selection.by is not None or before != after or before < 0:
            return await memories.count(db, selection)
        state, moment = (before, seq), time.monotonic()
        late = moment - self._kept_at > KEPT_SECONDS
        if state != self._state or late or len(self._counts) >= MAX_KEPT:
            self._counts, self._state, self._kept_at = {}, state, moment
        counts = self._counts
        if selection not in counts:
            counts[selection] = await memories.count(db, selection)
        return counts[selection]
