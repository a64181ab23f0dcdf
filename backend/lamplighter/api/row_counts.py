"""The figures of the rows, counted at most every so often, whoever asks for them."""

import asyncio
import time
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from lamplighter.repository import Database, reading
from lamplighter.repository.store.driver import Error
from lamplighter.repository.upkeep.statistics import Figures, figures

KEPT_SECONDS: Final = 15.0
PATIENCE_SECONDS: Final = 5.0


@dataclass(slots=True)
class Kept:
    """What was counted last, and when; None where nothing could be."""

    found: Figures | None = None
    since: float | None = None
    one: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def at(self, db: Database, now: datetime) -> Figures | None:
        """Return the figures, counted anew when they are too old."""
        async with self.one:
            if self.since is None or time.monotonic() - self.since > KEPT_SECONDS:
                self.found = await _counted(db, now)
                self.since = time.monotonic()
            return self.found


async def _counted(db: Database, now: datetime) -> Figures | None:
    try:
        async with asyncio.timeout(PATIENCE_SECONDS), reading(db):
            return await figures(db, now=now)
    except (Error, TimeoutError):
        return None
