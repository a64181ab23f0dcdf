"""A session in progress: its output, and its checks of services."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from lamplighter.domain.services.service import Service
from lamplighter.engines.lines import Line, block_line, tool_result_line
from lamplighter.engines.probe import checks, findings
from lamplighter.engines.probe.facts import CheckOutcome
from lamplighter.engines.probe.request import ProbeRequest
from lamplighter.engines.probe.text import harmless

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

    def begin_use(self, tool: str, **arguments: object) -> str:
        """Print the use of a tool, and return its id."""
        use = f"use-{self.request.session}-{next(self._uses)}"
        self.emit(block_line({"type": "tool_use", "id": use, "name": tool, "input": arguments}))
        return use

    def end_use(
        self,
        use: str,
        text: str,
        *,
        failed: bool = False,
        values: Mapping[str, object] | None = None,
    ) -> None:
        """Print the result of a tool."""
        block = {"type": "tool_result", "tool_use_id": use, "content": text, "is_error": failed}
        self.emit(tool_result_line(block, values))

    def emit_text(self, *words: str) -> None:
        """Print lines of the probe's own text."""
        for text in words:
            self.emit(block_line({"type": "text", "text": text}))

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
        """Print the checks of a service and their results."""
        for outcome in outcomes:
            check = outcome.check
            names = {"service": service.name, "check": check.name, "kind": check.kind}
            use = self.begin_use("check", **names, target=check.target)
            values = {
                **names,
                "ok": outcome.ok,
                "status": outcome.status,
                "latency_ms": outcome.latency_ms,
                "answered": outcome.answered,
                "attempts": outcome.attempts,
                "flapped": outcome.flapped,
                "warned": findings.is_warning(service, outcome, self.request.facts),
                "detail": outcome.detail or outcome.warning,
                "looks": list(outcome.statuses),
            }
            self.end_use(use, describe_outcome(outcome), failed=not outcome.ok, values=values)


def describe_outcome(outcome: CheckOutcome) -> str:
    """Return a check result as text, with details that an event omits."""
    text = outcome.detail if not outcome.ok else f"{outcome.check.name} passed"
    text += f" with {outcome.status}" if outcome.ok and outcome.status else ""
    text += f" in {outcome.latency_ms:g} ms"
    text += f", {outcome.failed} of {outcome.attempts} attempts failed" if outcome.failed else ""
    text += f" ({outcome.detail})" if outcome.flapped else ""
    if len(outcome.statuses) > 1:
        text += f"; checked again: {', '.join(str(status) for status in outcome.statuses[1:])}"
    text += f'; the body begins "{harmless(outcome.excerpt)}"' if outcome.excerpt else ""
    return f"{text}\n{outcome.printed}" if "\n" in outcome.printed else text


def failing(outcomes: Sequence[CheckOutcome]) -> list[CheckOutcome]:
    """Return the failed outcomes."""
    return [each for each in outcomes if not each.ok]
