"""The health of the memory, measured beside the rounds on its schedule, with near-duplicates."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from lamplighter.domain.health.figures import MeasurementTrigger
from lamplighter.domain.health.findings import judge_figures
from lamplighter.domain.services.service import Services
from lamplighter.domain.services.vitals import VitalStatus
from lamplighter.repository.store.driver import Error, severity
from lamplighter.usecases.context import Context
from lamplighter.usecases.health.measure import is_due, measure

POLL_SECONDS: Final = 60.0

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class HealthSchedule:
    """The schedule of measurements while its supervisor leads; `interval` None turns it off."""

    context: Context
    interval: timedelta | None
    services: Callable[[], Services]

    async def run(self) -> None:
        """Measure whenever it is due, until cancelled."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            try:
                await self.step()
            except (Error, TimeoutError) as error:
                logger.log(severity(error), "The memory cannot be measured now: %s", error)

    async def step(self) -> bool:
        """Measure if it is due; return whether it was."""
        here = self.context
        if not await is_due(here.db, self.interval, now=here.now()):
            return False
        measurement = await measure(
            here,
            trigger=MeasurementTrigger.SCHEDULE,
            names=self.services().folded_names,
            compare=True,
        )
        for each in judge_figures(measurement.figures):
            if each.state is VitalStatus.FAILING:
                logger.warning("The memory misses a goal: %s (goal: %s).", each.text, each.goal)
        return True
