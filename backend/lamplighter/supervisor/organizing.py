"""The organizer beside the rounds: on its schedule, and when a person has queued a run."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from lamplighter.domain.errors import Conflict
from lamplighter.domain.services.service import Services
from lamplighter.repository.store.driver import Error, severity
from lamplighter.usecases.context import Context
from lamplighter.usecases.organize.model import SentenceSelector
from lamplighter.usecases.organize.run import due, organize
from lamplighter.usecases.verify.verify import Sources

POLL_SECONDS: Final = 5.0
"""The interval between checks for a due or queued run."""

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class OrganizerSchedule:
    """Runs the organizer while its supervisor leads; `interval` None runs only queued runs.

    A run that begins during a halt queries no model and verifies nothing.
    """

    context: Context
    interval: timedelta | None
    services: Callable[[], Services]
    selector: Callable[[], SentenceSelector | None] = lambda: None
    halted: Callable[[], Awaitable[bool]] | None = None
    silent: Callable[[], frozenset[str]] = frozenset
    sources: Sources | None = None

    async def run(self) -> None:
        """Start or continue each run that is due, until cancelled."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            try:
                await self.step()
            except (Error, TimeoutError, Conflict) as error:
                logger.log(severity(error), "The organizer cannot run now: %s", error)

    async def step(self) -> bool:
        """Run the organizer if it is due; return whether it was."""
        here = self.context
        trigger = await due(here.db, self.interval, now=here.now())
        if trigger is None:
            return False
        halted = self.halted is not None and await self.halted()
        done = await organize(
            here,
            trigger=trigger,
            names=self.services().folded_names,
            selector=None if halted else self.selector(),
            silent=self.silent(),
            sources=None if halted else self.sources,
        )
        counts = done.counts
        if done.act_id is not None:
            logger.info(
                "The organizer set aside %d near-duplicates and compressed %d episodes (run %d).",
                counts["duplicates"],
                counts["compressed"],
                done.id,
            )
        return True
