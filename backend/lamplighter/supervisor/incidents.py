"""Incidents beside the rounds: updated after each commit while any is open."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from lamplighter.domain.services.service import Services
from lamplighter.repository.store.driver import Error, severity
from lamplighter.usecases.context import Context
from lamplighter.usecases.services.incidents.follow import follow
from lamplighter.usecases.services.incidents.learn import learn

POLL_SECONDS: Final = 1.0

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class IncidentFollower:
    """Updates incidents while its supervisor leads."""

    here: Context
    services: Callable[[], Services]
    version: Callable[[], int]
    """A number that changes with each commit to the database; 0 or -1 if unknown."""

    async def run(self) -> None:
        """Update until cancelled: after commits, and each second while a notification is due."""
        due, followed = True, 0
        while True:
            version = self.version()
            if due or version <= 0 or version != followed:
                due, followed = await self._follow(), version
            await asyncio.sleep(POLL_SECONDS)

    async def _follow(self) -> bool:
        """Follow once; return whether to do it again without a commit."""
        try:
            services = self.services()
            due = await follow(self.here.db, services, now=self.here.now())
            await learn(self.here, services)
            return due
        except (Error, TimeoutError) as error:
            logger.log(severity(error), "Incidents cannot be updated now: %s", error)
            return True
