"""The check process from the supervisor's side: started, given orders, replaced."""

import asyncio
import itertools
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from lamplighter.domain.services.check import Check, longest_seconds
from lamplighter.engines import checker
from lamplighter.engines.checker import CheckReport
from lamplighter.engines.probe.facts import CheckOutcome, repeat_passed
from lamplighter.engines.process import start_server

REPLACE_SECONDS: Final = 1_800.0
"""A process is replaced after this time: threads that wait for a dead disk end with it."""

SLACK_SECONDS: Final = 15.0
END_SECONDS: Final = 5.0


class CheckProcessEnded(Exception):
    """The check process reported no result; the state of the service is unknown."""


@dataclass(slots=True)
class CheckProcess:
    """One check process and its orders without a report."""

    process: asyncio.subprocess.Process
    started: float = field(default_factory=time.monotonic)
    _waiting: dict[int, asyncio.Future[CheckReport]] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _reading: asyncio.Task[None] | None = None

    @classmethod
    async def start(cls) -> "CheckProcess":
        """Start a process; it accepts orders at once."""
        found = cls(await start_server(checker.command(), checker.environment()))
        found._reading = asyncio.create_task(found._read())
        return found

    @property
    def ended(self) -> bool:
        """Whether the process takes no more orders."""
        return self._reading is None or self._reading.done()

    async def run(self, check: Check, due: float) -> CheckReport:
        """Return the outcome of a check; raises CheckProcessEnded, and kills a hanging process."""
        if self.ended or self.process.stdin is None:
            raise CheckProcessEnded
        number = next(self._numbers)
        future: asyncio.Future[CheckReport] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        try:
            self.process.stdin.write(checker.write_order(number, due, check))
            async with asyncio.timeout(longest_seconds(check) + SLACK_SECONDS):
                return await future
        except TimeoutError:
            self.kill()
            raise CheckProcessEnded from None
        finally:
            self._waiting.pop(number, None)

    async def finish(self) -> None:
        """End the process: it has no orders, or their outcomes are no longer needed."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(END_SECONDS):
                await self.process.wait()
        self.kill()
        await self.process.wait()
        if self._reading is not None:
            await self._reading

    async def retire(self) -> None:
        """End the process once it has reported on all its orders."""
        waiting = list(self._waiting.values())
        if waiting:
            await asyncio.wait(waiting)
        await self.finish()

    def kill(self) -> None:
        """Kill the process."""
        with suppress(ProcessLookupError):
            self.process.kill()

    async def _read(self) -> None:
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            with suppress(ValueError):
                report = checker.read_report(line)
                future = self._waiting.get(report.id)
                if future is not None and not future.done():
                    future.set_result(report)
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(CheckProcessEnded())


@dataclass(slots=True)
class CheckProcesses:
    """The current check process; a new one replaces it when it ends or is old."""

    _current: CheckProcess | None = None
    _starting: asyncio.Lock = field(default_factory=asyncio.Lock)
    _retiring: set[asyncio.Task[None]] = field(default_factory=set)

    async def run(self, check: Check, due: float) -> CheckReport:
        """Return the outcome of a check; a check whose process ends runs once more."""
        try:
            return await (await self._process()).run(check, due)
        except CheckProcessEnded:
            return await (await self._process()).run(check, due)

    async def run_now(
        self, check: Check, *, look_again: bool = False, retry: bool = True
    ) -> CheckOutcome:
        """Return the current outcome of a check, measured in a separate process like a probe's."""
        outcome = await self._outcome(check, retry=retry)
        if not look_again or not outcome.ok or outcome.failed:
            return outcome
        return await repeat_passed(outcome, lambda: self._outcome(check, retry=False))

    async def _outcome(self, check: Check, *, retry: bool) -> CheckOutcome:
        once = check if retry else replace(check, retries=0)
        report = await self.run(once, time.monotonic())
        if report.error:
            raise CheckProcessEnded(report.error)
        only_warned = report.warned and not report.failed
        return CheckOutcome(
            check=check,
            ok=report.ok,
            latency_ms=report.latency_ms or 0.0,
            status=report.status,
            attempts=report.attempts,
            failed=report.failed,
            detail="" if only_warned else report.detail,
            warning=report.detail if only_warned else "",
            answered=report.answered,
            statuses=(report.status,) if report.ok and report.status else (),
        )

    async def aclose(self) -> None:
        """End every process."""
        for task in self._retiring:
            task.cancel()
        await asyncio.gather(*self._retiring, return_exceptions=True)
        current, self._current = self._current, None
        if current is not None:
            await current.finish()

    async def _process(self) -> CheckProcess:
        async with self._starting:
            current = self._current
            if current is not None and not current.ended:
                if time.monotonic() - current.started < REPLACE_SECONDS:
                    return current
                task = asyncio.create_task(current.retire())
                self._retiring.add(task)
                task.add_done_callback(self._retiring.discard)
            self._current = current = await CheckProcess.start()
            return current
