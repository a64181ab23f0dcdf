"""The routines of the leading supervisor beside the rounds: each repeats a short step."""

import asyncio
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Set
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import ClassVar, Final

from lamplighter.domain.errors import Conflict, LamplighterError
from lamplighter.domain.health.figures import MeasurementTrigger
from lamplighter.domain.health.findings import judge_figures
from lamplighter.domain.services.check import PushCheck
from lamplighter.domain.services.service import Services
from lamplighter.domain.services.vitals import VitalStatus
from lamplighter.domain.sessions.retention import Retention
from lamplighter.repository import reading
from lamplighter.repository.sessions import folding
from lamplighter.repository.store.driver import Error, severity
from lamplighter.supervisor.run.files import SessionFiles
from lamplighter.usecases.context import Context
from lamplighter.usecases.health.measure import is_due, measure
from lamplighter.usecases.memory.fade import fade
from lamplighter.usecases.organize.model import SentenceSelector
from lamplighter.usecases.organize.run import due, organize
from lamplighter.usecases.services import check_runs, push_checks
from lamplighter.usecases.services.incidents.follow import follow
from lamplighter.usecases.services.incidents.learn import learn
from lamplighter.usecases.system.retention import apply_retention
from lamplighter.usecases.verify import schedule
from lamplighter.usecases.verify.verify import Sources

SETTLED_SECONDS: Final = 86_400.0
"""Files written more recently are left, because their session may be about to start."""

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Routine(ABC):
    """Work that is repeated while its supervisor leads; an error of the database is logged."""

    here: Context

    start_seconds: ClassVar[float] = 0.0
    poll_seconds: ClassVar[float]
    busy_seconds: ClassVar[float] = 0.0
    """The pause after a step that had work to do, if it differs."""

    errors: ClassVar[tuple[type[Exception], ...]] = (Error, TimeoutError)
    problem: ClassVar[str]

    async def run(self) -> None:
        """Repeat the step until cancelled; the next process continues unfinished work."""
        await asyncio.sleep(self.start_seconds)
        while True:
            worked = False
            try:
                worked = await self.step()
            except self.errors as error:
                logger.log(severity(error), f"{self.problem}: %s", error)
            await asyncio.sleep((worked and self.busy_seconds) or self.poll_seconds)

    @abstractmethod
    async def step(self) -> bool:
        """Do the work that is due; return whether there was any."""


@dataclass(slots=True)
class HealthSchedule(Routine):
    """Measures the memory's health, with near-duplicates; `interval` None turns it off."""

    interval: timedelta | None
    services: Callable[[], Services]

    start_seconds = poll_seconds = 60.0
    problem = "The memory cannot be measured now"

    async def step(self) -> bool:
        """Measure if it is due; return whether it was."""
        here = self.here
        if not await is_due(here.db, self.interval, now=here.now()):
            return False
        trigger, names = MeasurementTrigger.SCHEDULE, self.services().folded_names
        measurement = await measure(here, trigger=trigger, names=names, compare=True)
        for each in judge_figures(measurement.figures):
            if each.state is VitalStatus.FAILING:
                logger.warning("The memory misses a goal: %s (goal: %s).", each.text, each.goal)
        return True


@dataclass(slots=True)
class OrganizerSchedule(Routine):
    """Runs the organizer on its schedule; `interval` None runs only what a person has queued.

    A run that begins during a halt queries no model and verifies nothing.
    """

    interval: timedelta | None
    services: Callable[[], Services]
    selector: Callable[[], SentenceSelector | None] = lambda: None
    halted: Callable[[], Awaitable[bool]] | None = None
    silent: Callable[[], frozenset[str]] = frozenset
    sources: Sources | None = None

    start_seconds = poll_seconds = 5.0
    errors = (Error, TimeoutError, Conflict)
    problem = "The organizer cannot run now"

    async def step(self) -> bool:
        """Run the organizer if it is due; return whether it was."""
        here = self.here
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


@dataclass(slots=True)
class Verifier(Routine):
    """Marks, verifies and runs attached checks; `interval` 0 skips unverified memories."""

    sources: Sources
    run_command: schedule.RunCommand
    interval: float
    halted: Callable[[], Awaitable[bool]]
    _done_at: float = float("-inf")
    _after: int = 0

    start_seconds, poll_seconds, busy_seconds = 10.0, 15.0, 0.25
    problem = "Memories cannot be verified now"

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


@dataclass(slots=True)
class RetentionSchedule(Routine):
    """Applies retention every hour; no session waits for it."""

    files: SessionFiles
    retention: Retention
    steady: Callable[[datetime], bool]

    start_seconds, poll_seconds = 60.0, 3_600.0
    errors = (Error, OSError)
    problem = "Old rows cannot be removed now"

    async def step(self) -> bool:
        """Remove old rows and files, fold rounds, and fade memories that no session faded."""
        here = self.here
        if not self.steady(here.now()):
            return False  # the clock was changed: rows may only seem old
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
        return True


@dataclass(slots=True)
class IncidentFollower(Routine):
    """Updates incidents: after commits, and each second while a notification is due."""

    services: Callable[[], Services]
    version: Callable[[], int]
    """A number that changes with each commit to the database; 0 or -1 if unknown."""

    _due: bool = True
    _followed: int = 0

    poll_seconds = 1.0
    problem = "Incidents cannot be updated now"

    async def step(self) -> bool:
        """Follow the incidents, unless nothing has changed; after an error they are due again."""
        version = self.version()
        if not self._due and version > 0 and version == self._followed:
            return False
        self._due, self._followed = True, version
        services = self.services()
        again = await follow(self.here.db, services, now=self.here.now())
        await learn(self.here, services)
        self._due = again
        return True


@dataclass(slots=True)
class PushEvaluation(Routine):
    """Records the results of push checks: received signals, and late runs; none during a halt.

    `repairs` permits a known repair to begin at once.
    """

    load: Callable[[], Services]
    halted: Callable[[], Awaitable[bool]]
    check_now: Callable[[Set[str]], None] = lambda _: None
    repairs: bool = False
    _services: Services = field(default_factory=Services)
    _awaited: bool = False

    poll_seconds = 1.0
    problem = "Push checks could not be evaluated"

    async def step(self) -> bool:
        """Record due results; a failure that waits for its dependencies is checked again."""
        before = self._services
        with suppress(LamplighterError):  # the last valid version stays active
            self._services = self.load()
        if self._services is before and not _has_push_check(before):
            return False
        if await self.halted():
            self._services = before
            return False
        awaited = await push_checks.evaluate(self.here, self._services, repairs=self.repairs)
        if awaited is None and self._awaited:
            awaited = await check_runs.record(self.here, (), self._services, repairs=self.repairs)
        elif awaited:
            self.check_now(awaited)
        self._awaited = bool(awaited)
        return True


def _has_push_check(services: Services) -> bool:
    return any(isinstance(check, PushCheck) for each in services for check in each.checks)
