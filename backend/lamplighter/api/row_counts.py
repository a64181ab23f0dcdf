"""Row counts, kept for a short time, or until the database changes."""

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
"""How long at most: a server does not tell of what people change in its rows by hand."""
MAX_KEPT: Final = 256


@dataclass(slots=True)
class CountCache:
    """What was counted last, and when; None where nothing could be."""

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
    """How many memories match each filter, kept while the database does not change.

    A view is known to be of one state of the database by its number of commits, read before the
    view was taken and after: equal, and nothing was committed in between. Where there is no such
    number (PostgreSQL), the last change of the feed that the view holds stands for it.
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
