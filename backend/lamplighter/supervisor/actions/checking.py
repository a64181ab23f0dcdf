"""Checks by the supervisor itself: in a separate process, or in the check process."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from lamplighter.domain.actions import evidence
from lamplighter.domain.errors import Conflict
from lamplighter.domain.services.check import longest_seconds
from lamplighter.domain.services.service import Service
from lamplighter.domain.sessions.session import CheckResult, Session
from lamplighter.domain.sessions.transcript import ToolResult
from lamplighter.engines import EngineInput, stream
from lamplighter.engines.bounded import run_bounded
from lamplighter.engines.probe import ProbeEngine
from lamplighter.supervisor.checks.process import CheckProcessEnded, CheckProcesses

START_SECONDS: Final = 10.0
MAX_CHECK_SECONDS: Final = 120.0
OUTPUT_BYTES: Final = 1024 * 1024

PreviousResults = Mapping[str, Sequence[CheckResult]]


async def check(
    session: Session, service: Service, before: PreviousResults | None = None
) -> list[CheckResult]:
    """Return the results of a service's checks; raises Conflict if it has none.

    A check that hangs is killed with its process.
    """
    if not service.checks:  # push checks without a reported run
        return []
    task = EngineInput(
        session=replace(session, tier=1),
        system="",
        injected="",
        message="",
        services=(service,),
        declared=(service,),
        check_results={
            f"{service.name}/{name}": tuple(past) for name, past in (before or {}).items()
        },
    )
    command = ProbeEngine().command(task)
    seconds = min(MAX_CHECK_SECONDS, max(map(longest_seconds, service.checks)) + START_SECONDS)
    ended = await run_bounded(
        command.argv,
        stdin=command.stdin,
        env=command.env,
        timeout=seconds,
        output_bytes=OUTPUT_BYTES,
    )
    results = [each for line in ended.output.splitlines() for each in _results(line)]
    if not results:
        why = f"timed out after {seconds:g} s" if ended.timed_out else "the probe failed"
        raise Conflict(f"The checks of {service.name} failed to run: {why}.")
    return results


async def check_at_once(
    processes: CheckProcesses, session: Session, service: Service
) -> list[CheckResult]:
    """Return the results of a service's checks from the check process, which is already running."""
    try:
        results = await asyncio.gather(*map(processes.run_now, service.checks))
    except (CheckProcessEnded, OSError) as error:
        why = error or "the check process ended"
        raise Conflict(f"The checks of {service.name} failed to run: {why}.") from None
    return [
        CheckResult(
            service=service.name,
            name=each.check.name,
            kind=each.check.kind,
            ok=each.ok,
            warned=each.ok and bool(each.warning or each.flapped),
            status=each.status,
            latency_ms=each.latency_ms,
            attempts=each.attempts,
            flapped=each.flapped,
            detail=each.detail or each.warning,
            answered=each.answered,
        )
        for each in results
    ]


def _results(line: bytes) -> list[CheckResult]:
    found = [
        evidence.parse_evidence(item.structured)
        for item in stream.parse(line)
        if isinstance(item, ToolResult) and isinstance(item.structured, dict)
    ]
    return [each for each in found if isinstance(each, CheckResult)]
