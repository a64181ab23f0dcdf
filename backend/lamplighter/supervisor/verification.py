"""Verification on a schedule, beside the rounds: short steps with a pause after each."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from lamplighter.repository.store.driver import Error, severity
from lamplighter.usecases.context import Context
from lamplighter.usecases.verify import schedule
from lamplighter.usecases.verify.verify import Sources

logger = logging.getLogger(__name__)

START_SECONDS: Final = 10.0
PAUSE_SECONDS: Final = 0.25
POLL_SECONDS: Final = 15.0


@dataclass(slots=True)
class Verifier:
    """Marks, verifies and runs attached checks; `interval` 0 skips unverified memories."""

    here: Context
    sources: Sources
    run_command: schedule.RunCommand
    interval: float
    halted: Callable[[], Awaitable[bool]]
    _done_at: float = float("-inf")
    _after: int = 0

    async def run(self) -> None:
        """Work until cancelled; the next process continues unfinished work."""
        await asyncio.sleep(START_SECONDS)
        while True:
            try:
                worked = await self.step()
            except (Error, TimeoutError) as error:
                logger.log(severity(error), "Memories cannot be verified now: %s", error)
                worked = False
            await asyncio.sleep(PAUSE_SECONDS if worked else POLL_SECONDS)

    async def step(self) -> bool:
        """Do one short piece of work; return whether there was any."""
        if self.interval <= 0 or await self.halted():
            return False
        if await schedule.mark_changed(self.here):
            self._done_at = float("-inf")  # changed memories do not wait for the interval
            return True
        if await schedule.run_attached(self.here, self.run_command):
            return True
        loop = asyncio.get_running_loop()
        if loop.time() < self._done_at + self.interval:
            return False
        results, self._after = await schedule.verify_due(self.here, self.sources, after=self._after)
        if not results and not self._after:
            self._done_at = loop.time()
            return False
        return True
