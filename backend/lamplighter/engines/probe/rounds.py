"""Tier 1, one round: every service looked at, and told of as soon as it is done."""

import asyncio

from lamplighter.domain.event import Level
from lamplighter.domain.service import Service
from lamplighter.engines.probe import findings
from lamplighter.engines.probe.watch import Seen, Watch


async def run(watch: Watch) -> str:
    """Look at all services and return the round in one sentence."""

    async def look(service: Service) -> tuple[*Seen, Level]:
        _, outcomes = await watch.look(service)
        # nothing awaits from here on, so no lines of another service come between
        watch.show(service, outcomes)
        facts = watch.request.facts
        watch.tell(*findings.about(service, outcomes, facts))
        return service, outcomes, findings.level(service, outcomes, facts)

    return findings.summary(await asyncio.gather(*map(look, watch.request.services)))
