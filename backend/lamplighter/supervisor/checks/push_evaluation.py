"""The evaluation of push checks beside the scheduler: received signals, and late runs."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Set
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from lamplighter.domain.errors import LamplighterError
from lamplighter.domain.services.check import PushCheck
from lamplighter.domain.services.service import Services
from lamplighter.repository.store.driver import Error, severity
from lamplighter.usecases.context import Context
from lamplighter.usecases.services import check_runs, push_checks

logger = logging.getLogger(__name__)

STEP_SECONDS: Final = 1.0


@dataclass(slots=True)
class PushEvaluation:
    """Records the results of push checks while this process leads; none during a halt.

    `repairs` permits a known repair to begin at once.
    """

    here: Context
    load: Callable[[], Services]
    halted: Callable[[], Awaitable[bool]]
    check_now: Callable[[Set[str]], None] = lambda _: None
    repairs: bool = False
    _services: Services = field(default_factory=Services)
    _awaited: bool = False

    async def run(self) -> None:
        """Evaluate until cancelled."""
        while True:
            try:
                await self.step()
            except (Error, TimeoutError) as error:
                logger.log(severity(error), "Push checks could not be evaluated: %s", error)
            await asyncio.sleep(STEP_SECONDS)

    async def step(self) -> None:
        """Record due results; a failure that waits for its dependencies is checked again."""
        before = self._services
        with suppress(LamplighterError):  # the last valid version stays active
            self._services = self.load()
        if self._services is before and not _has_push_check(before):
            return
        if await self.halted():
            self._services = before
            return
        awaited = await push_checks.evaluate(self.here, self._services, repairs=self.repairs)
        if awaited is None and self._awaited:
            awaited = await check_runs.record(self.here, (), self._services, repairs=self.repairs)
        elif awaited:
            self.check_now(awaited)
        self._awaited = bool(awaited)


def _has_push_check(services: Services) -> bool:
    return any(isinstance(check, PushCheck) for each in services for check in each.checks)
