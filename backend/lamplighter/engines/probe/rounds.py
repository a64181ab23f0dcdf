"""One round: every service looked at, and told of as soon as it is done."""

import asyncio
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from lamplighter.domain.event import Level
from lamplighter.domain.service import Service
from lamplighter.engines.probe import checks, findings, http, lines
from lamplighter.engines.probe.facts import Facts, Outcome
from lamplighter.engines.probe.lines import Line
from lamplighter.engines.probe.request import Request

AT_ONCE: Final = 8

Say = Callable[[Line], None]


async def run(request: Request, say: Say) -> str:
    """Look at all services, at most eight at once, and return the round in one sentence."""
    say(lines.started(request.tier, len(request.services)))
    await http.ready()
    gate = asyncio.Semaphore(AT_ONCE)
    uses = (f"check-{request.session}-{number}" for number in itertools.count(1))

    async def look(service: Service) -> tuple[Service, Sequence[Outcome], Level]:
        async with gate:
            outcomes = await _outcomes(service, request.facts)
        _tell(service, outcomes, request.facts, uses=uses, say=say)
        return service, outcomes, findings.level(service, outcomes, request.facts)

    return findings.summary(await asyncio.gather(*map(look, request.services)))


async def _outcomes(service: Service, facts: Facts) -> Sequence[Outcome]:
    return await asyncio.gather(
        *(
            checks.run(check, look_again=findings.wants_another_look(service, check, facts))
            for check in service.checks
        )
    )


def _tell(
    service: Service, outcomes: Sequence[Outcome], facts: Facts, *, uses: Iterator[str], say: Say
) -> None:
    """Say all lines of a service in one step: nothing awaits here, so no others come between."""
    for outcome, use in zip(outcomes, uses, strict=False):
        say(lines.asked(service, outcome, use))
        say(lines.answered(service, outcome, use))
    for text in findings.about(service, outcomes, facts):
        say(lines.said(text))
