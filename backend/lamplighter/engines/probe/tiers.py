"""The probe's task at each tier: observe, investigate, remediate."""

import asyncio

from lamplighter.domain.services.check import HttpCheck
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.service import Service
from lamplighter.engines.lines import init_line
from lamplighter.engines.probe import checks, findings, investigate, remediate
from lamplighter.engines.probe.request import ProbeRequest
from lamplighter.engines.probe.watch import PrintLine, ProbeSession, RunCheck, ServiceOutcomes


async def observe(watch: ProbeSession) -> str:
    """Check all services and return the round in one sentence."""

    async def look(service: Service) -> tuple[*ServiceOutcomes, Level]:
        _, outcomes = await watch.look(service)
        # no await below: output of other services cannot interleave
        watch.show(service, outcomes)
        facts = watch.request.facts
        watch.emit_text(*findings.service_markers(service, outcomes, facts))
        return service, outcomes, findings.level(service, outcomes, facts)

    return findings.summary(await asyncio.gather(*map(look, watch.request.services)))


_TIERS = {
    1: (observe, ("check",)),
    2: (investigate.run, ("check", "isolate")),
    3: (remediate.run, ("check", "run_action", "wait")),
}


async def run(
    request: ProbeRequest, print_line: PrintLine, run_check: RunCheck | None = None
) -> str:
    """Run the task of the request's tier, and return its result in one sentence.

    Checks run in this process unless `run_check` runs them elsewhere.
    """
    work, tools = _TIERS[request.tier]
    scope = {"tier": request.tier, "services": len(request.services)}
    print_line(init_line("probe", None, tools, mcp_servers=[], **scope))
    http_checks = [
        check
        for service in (*request.services, *request.declared)
        for check in service.checks
        if isinstance(check, HttpCheck)
    ]
    if http_checks and run_check is None:
        from lamplighter.engines.probe import http  # late import: slow, and only HTTP needs it

        await http.preload(tls=any(map(http.may_verify_tls, http_checks)))
    return await work(ProbeSession(request, print_line, run_check or checks.run))
