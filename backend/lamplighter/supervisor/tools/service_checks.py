"""The tool by which a session checks a service: the checks of the probe, in its own process."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from lamplighter.domain.actions.policy import quote_name
from lamplighter.domain.errors import Conflict, NotFound
from lamplighter.domain.services.service import Service, is_same_service
from lamplighter.domain.sessions.marker_results import CheckResult
from lamplighter.domain.text import format_time
from lamplighter.formats import serialize
from lamplighter.formats.tools.table import CheckService
from lamplighter.repository import reading, writing
from lamplighter.repository.services import checks
from lamplighter.supervisor.actions import repairing
from lamplighter.supervisor.actions.checking import PreviousResults, check
from lamplighter.supervisor.tools.context import ToolContext
from lamplighter.usecases.services import push_checks
from lamplighter.usecases.sessions.toolbox import ToolOutput, implements

MAX_CHECKS: Final = 100
PREVIOUS_SHOWN: Final = 5


@implements(CheckService)
async def check_service(context: ToolContext, arguments: CheckService) -> ToolOutput:
    """Run the checks of a service."""
    service = context.near(arguments.service)
    chosen = _select_checks(service, arguments.check)
    context.count(CheckService.tool.name, MAX_CHECKS)
    before = await _previous_results(context, chosen)
    [resolved] = await push_checks.with_results(context.gate.here.db, [chosen])
    outcomes = await check(context.gate.session, resolved, before)
    now = context.gate.here.now()
    async with writing(context.gate.here.db):
        for each in outcomes:
            await checks.insert(context.gate.here.db, context.gate.session.id, each, now=now)
        await repairing.credit(context.gate, service.name, outcomes)
    return _checks_answer(context, chosen, outcomes, before)


def _select_checks(service: Service, name: str | None) -> Service:
    """Return the service with the selected checks."""
    if not service.checks:
        raise Conflict(f"{service.name} declares no checks.")
    if name is None:
        return service
    selected = tuple(each for each in service.checks if is_same_service(each.name, name))
    if not selected:
        names = ", ".join(each.name for each in service.checks)
        raise NotFound(f"{service.name} has no check {quote_name(name)}. Its checks: {names}.")
    return replace(service, checks=selected)


async def _previous_results(context: ToolContext, service: Service) -> PreviousResults:
    db = context.gate.here.db
    async with reading(db):
        return {
            each.name: await checks.recent(db, service.name, each.name, limit=PREVIOUS_SHOWN)
            for each in service.checks
        }


def _checks_answer(
    context: ToolContext, service: Service, results: Sequence[CheckResult], before: PreviousResults
) -> ToolOutput:
    well = sum(each.ok for each in results)
    lines = [f"{service.name}: {well} of {len(results)} checks passed."]
    for each in results:
        lines.append(
            f"- {_describe_check(each)}{_describe_previous(context, before.get(each.name, ()))}"
        )
    have = {each.name for each in results}
    lines += [
        f"- {each.name} ({each.kind}) has no result yet: its job has reported no run."
        for each in service.checks
        if each.name not in have
    ]
    values = [_values(each, before.get(each.name, ())) for each in results]
    healthy = bool(results) and well == len(results)
    found = {"service": service.name, "healthy": healthy, "checks": values}
    return ToolOutput(text="\n".join(lines), structured=found)


def _describe_check(result: CheckResult) -> str:
    how = ("passes, with a warning" if result.warned else "passes") if result.ok else "FAILS"
    parts = [
        f"answer {result.status}" if result.status is not None else "",
        f"{result.latency_ms:g} ms" if result.latency_ms is not None else "",
        f"{result.attempts} attempts" if result.attempts > 1 else "",
        result.detail,
    ]
    return f"{result.name} ({result.kind}) {how}: {', '.join(filter(None, parts))}"


def _describe_previous(context: ToolContext, results: Sequence[CheckResult]) -> str:
    now = context.gate.here.now()
    lines = [
        f"{'ok' if each.ok else 'failed'} {format_time(each.at, now)}"
        for each in results
        if each.at
    ]
    return f". Before: {', '.join(lines)}" if lines else ". Not checked before"


def _values(result: CheckResult, before: Sequence[CheckResult]) -> dict[str, Any]:
    return {
        "check": result.name,
        "kind": result.kind,
        "ok": result.ok,
        "warned": result.warned,
        "flapped": result.flapped,
        "status": result.status,
        "latency_ms": result.latency_ms,
        "attempts": result.attempts,
        "detail": result.detail,
        "before": [
            {
                "ok": each.ok,
                "status": each.status,
                "latency_ms": each.latency_ms,
                "at": serialize.format_moment(each.at),
            }
            for each in before
        ],
    }
