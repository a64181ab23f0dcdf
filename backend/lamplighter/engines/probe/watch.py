"""A session in progress: its output, and its checks of services."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from lamplighter.domain.services.service import Service
from lamplighter.engines.probe import checks, findings, lines
from lamplighter.engines.probe.facts import CheckOutcome
from lamplighter.engines.probe.lines import Line
from lamplighter.engines.probe.request import ProbeRequest

AT_ONCE: Final = 8

PrintLine = Callable[[Line], None]
ServiceOutcomes = tuple[Service, Sequence[CheckOutcome]]
RunCheck = Callable[..., Awaitable[CheckOutcome]]
"""Runs a check: `checks.run`, or a function that runs it in another process."""


@dataclass(slots=True)
class ProbeSession:
    """One session: its request, and its output."""

    request: ProbeRequest
    emit: PrintLine
    run_check: RunCheck = checks.run
    _gate: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    _uses: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def use(self) -> str:
        """Return the next number of a tool use."""
        return f"use-{self.request.session}-{next(self._uses)}"

    def emit_text(self, *words: str) -> None:
        """Print lines of the probe's own text."""
        for text in words:
            self.emit(lines.text_line(text))

    async def look(self, service: Service) -> ServiceOutcomes:
        """Run a service's checks, at most eight services at once; print nothing yet."""
        facts = self.request.facts
        async with self._gate:
            outcomes = await asyncio.gather(
                *(
                    self.run_check(
                        check,
                        look_again=findings.needs_repeat(service, check, facts),
                        retry=not facts.has_failed(service, check),
                    )
                    for check in service.checks
                )
            )
        return service, outcomes

    async def look_at(self, services: Iterable[Service]) -> list[ServiceOutcomes]:
        """Run the checks of several services and print their outcomes, in their order."""
        seen = await asyncio.gather(*map(self.look, services))
        for each in seen:
            self.show(*each)
        return seen

    def show(self, service: Service, outcomes: Sequence[CheckOutcome]) -> None:
        """Print a request and its answer."""
        facts = self.request.facts
        for outcome in outcomes:
            use = self.use()
            self.emit(lines.check_call_line(service, outcome, use))
            warned = findings.is_warning(service, outcome, facts)
            self.emit(lines.check_result_line(service, outcome, use, warned=warned))


def failing(outcomes: Sequence[CheckOutcome]) -> list[CheckOutcome]:
    """Return the failed outcomes."""
    return [each for each in outcomes if not each.ok]
