"""Retention beside the rounds: no session waits for it."""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from lamplighter.domain.sessions.retention import Retention
from lamplighter.repository import reading
from lamplighter.repository.sessions import folding
from lamplighter.repository.store.driver import Error, severity
from lamplighter.supervisor.run.files import SessionFiles
from lamplighter.usecases.context import Context
from lamplighter.usecases.memory.fade import fade
from lamplighter.usecases.system.retention import apply_retention

FIRST_SECONDS: Final = 60.0
EVERY_SECONDS: Final = 3_600.0
SETTLED_SECONDS: Final = 86_400.0
"""Files written more recently are left, because their session may be about to start."""

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class RetentionSchedule:
    """Applies retention every hour, as long as its supervisor leads."""

    context: Context
    files: SessionFiles
    retention: Retention
    steady: Callable[[datetime], bool]

    async def run(self) -> None:
        """Apply retention, until cancelled."""
        await asyncio.sleep(FIRST_SECONDS)
        while True:
            try:
                await self.step()
            except (Error, TimeoutError, OSError) as error:
                level = logging.WARNING if isinstance(error, OSError) else severity(error)
                logger.log(level, "Old rows cannot be removed now: %s", error)
            await asyncio.sleep(EVERY_SECONDS)

    async def step(self) -> None:
        """Remove old rows and files, fold rounds, and fade memories that no session faded."""
        here = self.context
        if not self.steady(here.now()):
            return  # the clock was changed: rows may only seem old
        await fade(here.db, now=here.now())
        await apply_retention(here.db, self.retention, now=here.now())
        written = await asyncio.to_thread(self.files.written_before, time.time() - SETTLED_SECONDS)
        age = self.retention.sessions or timedelta.max
        async with reading(here.db):
            before = here.now() - min(age, timedelta(days=36_500))
            gone = await folding.obsolete(here.db, [*written], before=before)
        for number in gone:
            for output in written[number]:
                await asyncio.to_thread(self.files.remove, output)
