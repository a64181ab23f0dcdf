"""The check scheduler: runs each check on its own interval while this process leads."""

import asyncio
import logging
import math
import time
from collections.abc import Callable, Set
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Final

from lamplighter.domain.errors import LamplighterError, LeadershipLost
from lamplighter.domain.services import schedule
from lamplighter.domain.services.check import Check, CommandCheck, PushCheck
from lamplighter.domain.services.series import DAY, CheckRun, PointState, span_start
from lamplighter.domain.services.service import Services
from lamplighter.engines.checker import CheckReport
from lamplighter.repository.store.driver import Error, severity
from lamplighter.supervisor.checks.process import CheckProcessEnded, CheckProcesses
from lamplighter.usecases.context import Context
from lamplighter.usecases.services import check_folding, check_runs, lasting_warnings
from lamplighter.usecases.services.check_folding import CheckRetention
from lamplighter.usecases.services.incidents import latency_hours
from lamplighter.usecases.services.incidents.advise import record_declarations
from lamplighter.usecases.sessions.halt import HaltControl

logger = logging.getLogger(__name__)

AT_ONCE: Final = 250
PROGRAMS_AT_ONCE: Final = 16
"""The most programs of command checks at a time; a slow one delays only other programs."""

TICK_SECONDS: Final = 1.0
FLUSH_SECONDS: Final = 0.5
AGAIN_SECONDS: Final = 1.0
HALT_SECONDS: Final = 1.0
FOLD_SECONDS: Final = 20.0
HOURS_AFTER: Final = timedelta(minutes=2)
"""How long after midnight (UTC) the day before is folded, and its slow hours are learned."""

MAX_PENDING: Final = 20_000
"""Results in memory while the database is unavailable; beyond that new ones are dropped."""

CheckName = tuple[str, str]


@dataclass(slots=True)
class ScheduledCheck:
    """A declared check, its next time by the monotonic clock, and whether it runs now.

    `failing` is its last result that is pending or stored; None until then. `requested_at` is when
    it last ran out of turn.
    """

    service: str
    check: Check
    interval: float
    due: float
    running: bool = False
    failing: bool | None = None
    requested_at: float = -math.inf


@dataclass(slots=True)
class CheckScheduler:
    """Runs the checks of `load`; `interval` is for checks without their own, in seconds.

    An interval of 0 runs no checks. Interval, retention and repairs may change while it runs.
    `repairs` permits a known repair to begin at once; `processes` also run checks of other callers.
    """

    here: Context
    load: Callable[[], Services]
    halt_control: HaltControl
    interval: float = schedule.INTERVAL_SECONDS
    retention: CheckRetention = field(default_factory=CheckRetention)
    repairs: bool = False
    processes: CheckProcesses = field(default_factory=CheckProcesses)
    _services: Services = field(default_factory=Services)
    _recorded: Services | None = None
    _loaded: tuple[Services, float] | None = None
    _checks: dict[CheckName, ScheduledCheck] = field(default_factory=dict)
    _pending: list[CheckRun] = field(default_factory=list)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    _programs: asyncio.Semaphore = field(
        default_factory=lambda: asyncio.Semaphore(PROGRAMS_AT_ONCE)
    )
    _filled: asyncio.Event = field(default_factory=asyncio.Event)
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    """Set if a result is awaited or differs from the previous one: it is stored at once."""

    _unsure: bool = False
    _hours_learned: date | None = None
    _halted: bool = False
    _halt_read_at: float = 0.0

    async def run(self) -> None:
        """Run checks and store their results until cancelled, or until another leader writes."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._store())
                tasks.create_task(self._fold())
                try:
                    await self._start_due()
                finally:
                    await self._stop()
        except BaseExceptionGroup as group:
            lost = group.subgroup(LeadershipLost)
            if lost is None:
                raise
            raise LeadershipLost(str(_first(lost))) from None

    async def _start_due(self) -> None:
        while True:
            await self.step(time.monotonic())
            await asyncio.sleep(self._rest(time.monotonic()))

    async def step(self, now: float) -> int:
        """Start the checks that are due, and return how many."""
        if not self.interval:
            self._checks, self._loaded = {}, None
            return 0
        self._reload(now)
        if self._recorded is not self._services:
            await self._record_changes()
        due = [each for each in self._checks.values() if each.due <= now]
        halted = bool(due) and await self._is_halted(now)
        for each in due:
            began, each.due = each.due, schedule.next_due(each.due, each.interval, now)
            if not each.running and not halted:  # skip a check that still runs
                each.running = True
                self._start(each, began)
        return 0 if halted else len(due)

    async def flush(self) -> int:
        """Store the pending results, and return their number; those that fail stay pending."""
        count = 0
        while some := self._pending[: check_runs.AT_ONCE]:
            again, self._unsure = self._unsure, True
            awaited = await check_runs.record(
                self.here, some, self._services, again=again, repairs=self.repairs
            )
            self._unsure = False
            del self._pending[: len(some)]
            count += len(some)
            self.check_now(awaited)
        return count

    def check_now(self, services: Set[str]) -> None:
        """Run the checks of some services at once; afterward they keep their own schedule.

        A check that did so a moment ago waits: another check that hangs must not make it run all
        the time.
        """
        for each in self._checks.values():
            if each.service in services and not each.running:
                each.running, each.failing = True, None
                each.requested_at = max(time.monotonic(), each.requested_at + AGAIN_SECONDS)
                self._start(each, each.requested_at)

    def _start(self, each: ScheduledCheck, due: float) -> None:
        task = asyncio.create_task(self._run_check(each, due))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def fold(self) -> int:
        """Fold stored results; results in memory are folded later."""
        now = self.here.now()
        oldest = min((run.at for run in self._pending), default=now)
        return await check_folding.fold(self.here.db, self.retention, before=min(oldest, now))

    async def _is_halted(self, now: float) -> bool:
        if now - self._halt_read_at >= HALT_SECONDS:
            self._halt_read_at = now
            try:
                self._halted = await self.halt_control.pulled(self.here.db) is not None
            except Error as error:
                logger.log(severity(error), "Whether checks are halted is not known: %s", error)
        return self._halted

    def _reload(self, now: float) -> None:
        """Apply the current services.yaml; an unchanged check keeps its schedule."""
        try:
            services = self.load()
        except LamplighterError:
            return  # the round reports it; the last valid version stays active
        if self._loaded and self._loaded[0] is services and self._loaded[1] == self.interval:
            return
        self._loaded, self._services = (services, self.interval), services
        before, self._checks = self._checks, {}
        for service in services:
            for check in service.checks:
                if isinstance(check, PushCheck):  # its jobs report the results
                    continue
                name = service.name, check.name
                interval = check.interval or self.interval
                held = before.get(name)
                if held is None or held.interval != interval:
                    delay = schedule.first_delay(*name, interval)
                    held = ScheduledCheck(service.name, check, interval, now + delay)
                held.check = check
                self._checks[name] = held

    async def _record_changes(self) -> None:
        try:
            await record_declarations(self.here.db, self._services, now=self.here.now())
            self._recorded = self._services
        except (Error, TimeoutError) as error:
            logger.log(severity(error), "A changed declaration could not be recorded: %s", error)

    async def _run_check(self, scheduled: ScheduledCheck, due: float) -> None:
        check = scheduled.check
        try:
            await asyncio.sleep(scheduled.requested_at - time.monotonic())
            async with self._programs if isinstance(check, CommandCheck) else self._slots:
                report = await self.processes.run(check, due)
        except (CheckProcessEnded, OSError) as error:
            message = "Check %s/%s did not run: the check process ended (%s)."
            logger.warning(message, scheduled.service, check.name, error or "twice")
            return
        finally:
            scheduled.running = False
        if report.error:
            message = "Check %s/%s failed to run: %s"
            logger.error(message, scheduled.service, check.name, report.error)
            return
        if len(self._pending) < MAX_PENDING:
            run = _check_run(scheduled, report, due, self.here.now())
            self._pending.append(run)
            self._filled.set()
            if run.state is not PointState.INCONCLUSIVE:
                if scheduled.failing in (None, report.ok):
                    self._news.set()
                scheduled.failing = not report.ok

    def _rest(self, now: float) -> float:
        due = min((each.due for each in self._checks.values()), default=now + TICK_SECONDS)
        return min(TICK_SECONDS, max(0.01, due - now))

    async def _store(self) -> None:
        while True:
            await self._filled.wait()
            with suppress(TimeoutError):
                async with asyncio.timeout(FLUSH_SECONDS):
                    await self._news.wait()
            self._filled.clear()
            self._news.clear()
            try:
                await self.flush()
            except (Error, TimeoutError) as error:
                logger.log(severity(error), "Check results could not be stored: %s", error)
                self._filled.set()

    async def _fold(self) -> None:
        while True:
            await asyncio.sleep(FOLD_SECONDS)
            if not self.interval:
                continue
            try:
                await self.fold()
                await lasting_warnings.detect(self.here, self._services)
                await self.learn_hours()
            except (Error, TimeoutError) as error:
                logger.log(severity(error), "Check results could not be folded: %s", error)

    async def learn_hours(self) -> None:
        """Learn once a day at which hours checks are slow, when the day before is folded."""
        now = self.here.now()
        if self._hours_learned != now.date() and now - span_start(now, DAY) >= HOURS_AFTER:
            await latency_hours.learn_hours(self.here, self._services)
            self._hours_learned = now.date()

    async def _stop(self) -> None:
        """End running checks without a result, and the check process."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.processes.aclose()


def _first(error: BaseException) -> BaseException:
    """Return the first error of a group, however deep."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _check_run(
    scheduled: ScheduledCheck, report: CheckReport, due: float, now: datetime
) -> CheckRun:
    return CheckRun(
        service=scheduled.service,
        check=scheduled.check.name,
        kind=scheduled.check.kind,
        at=now,
        state=_state(report),
        latency_ms=report.latency_ms,
        status=report.status,
        attempts=report.attempts,
        late_ms=schedule.late_ms(due, report.began),
        detail=report.detail,
    )


def _state(report: CheckReport) -> PointState:
    if report.starved:
        return PointState.INCONCLUSIVE
    if not report.ok:
        return PointState.FAILED
    return PointState.WARNED if report.warned else PointState.PASSED
