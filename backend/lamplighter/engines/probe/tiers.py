"""What the probe does at each tier: it observes, it investigates, it remediates."""

from lamplighter.engines.probe import http, investigate, lines, remediate, rounds
from lamplighter.engines.probe.request import Request
from lamplighter.engines.probe.watch import Say, Watch

_TIERS = {1: rounds.run, 2: investigate.run, 3: remediate.run}


async def run(request: Request, say: Say) -> str:
    """Do what the request's tier is for, and return it in one sentence."""
    say(lines.started(request.tier, len(request.services)))
    await http.ready()
    return await _TIERS[request.tier](Watch(request, say))
