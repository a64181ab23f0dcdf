"""Row counts, cached for a short time across callers."""

import asyncio
import time
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from lamplighter.repository import Database, reading
from lamplighter.repository.store.driver import Error
from lamplighter.repository.upkeep.statistics import StoreFigures, collect_figures

CACHE_SECONDS: Final = 15.0
TIMEOUT_SECONDS: Final = 5.0


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
