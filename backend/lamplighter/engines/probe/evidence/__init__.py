"""Evidence beside a failed check from this machine. Read-only and bounded."""

import asyncio
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

from lamplighter.domain.services.check import (
    Check,
    DiskCheck,
    DnsCheck,
    DockerCheck,
    SystemdCheck,
    TlsCheck,
)
from lamplighter.domain.services.service import Service
from lamplighter.domain.text import format_time
from lamplighter.engines.probe.evidence import disks, logs, ports
from lamplighter.engines.probe.facts import CheckOutcome, RoundFacts
from lamplighter.engines.probe.network import describe_certificate
from lamplighter.engines.probe.request import ProbeRequest
from lamplighter.engines.probe.text import inline

SECONDS: Final = 4.0
LINES: Final = 8
CHARACTERS: Final = 300
DEPENDENCIES: Final = 5


async def gather(
    service: Service,
    outcome: CheckOutcome,
    outcomes: Mapping[str, Sequence[CheckOutcome]],
    request: ProbeRequest,
) -> list[str]:
    """Return evidence about a service with a failing check, one sentence each."""
    sentences = [f'the answer begins "{outcome.excerpt}"'] if outcome.excerpt else []
    sentences += [
        f"{each.check.name} fails too: {each.detail}"
        for each in outcomes.get(service.name, ())
        if each.check.name != outcome.check.name and not each.ok
    ]
    times = [
        f"{name} in {max(1, round(each.latency_ms))} ms"
        for name in service.depends_on[:DEPENDENCIES]
        for each in outcomes.get(name, ())
        if each.ok
    ]
    sentences += [f"dependencies answer: {', '.join(times)}"] if times else []
    sentences += _last_answer(service, outcome.check, request.facts)
    for lines in await asyncio.gather(*map(_bounded, _of_machine(outcome.check, request))):
        sentences += lines
    return [inline(line, CHARACTERS) for line in sentences[:LINES]]


def _of_machine(check: Check, request: ProbeRequest) -> Iterator[Awaitable[list[str]]]:
    if check.endpoint is not None:
        yield ports.holders(*check.endpoint)
    if check.udp_endpoint is not None:
        yield ports.holders(*check.udp_endpoint, kind="udp")
    match check:
        case TlsCheck():
            yield describe_certificate(check)
        case DiskCheck(path=path):
            yield disks.largest(path)
        case SystemdCheck(unit=unit) if request.logs:
            yield logs.of_unit(unit)
        case DockerCheck() if request.logs:
            yield logs.of_container(check)


async def _bounded(source: Awaitable[list[str]]) -> list[str]:
    """Return the evidence of a source; none if it fails or takes too long."""
    with suppress(Exception):
        async with asyncio.timeout(SECONDS):
            return await source
    return []


def _last_answer(service: Service, check: Check, facts: RoundFacts) -> list[str]:
    history = facts.history_of(service, check) if isinstance(check, DnsCheck) else ()
    for past in history:
        if past.ok and past.detail and not past.flapped:
            at = format_time(past.at, facts.now)
            return [f"the last known answer is {past.detail}, at {at}"]
    return []
