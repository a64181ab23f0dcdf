"""Whether an action may repair a service now, and whether it did, by dedicated checks."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Final

from lamplighter.domain.actions import repairs
from lamplighter.domain.errors import Conflict
from lamplighter.domain.services.cooldown import CooldownUse, UseOutcome
from lamplighter.domain.services.service import Action, ApprovalPolicy, Service
from lamplighter.domain.sessions.session import CheckResult, Session, Trigger
from lamplighter.domain.text import one_line, shorten
from lamplighter.repository import writing
from lamplighter.repository.services import checks, cooldowns, series
from lamplighter.usecases.ingest.session_lines import PROBE
from lamplighter.usecases.services import act, push_checks
from lamplighter.usecases.services.incidents.advise import open_evidence
from lamplighter.usecases.services.incidents.lasting import lost_need, refused_actions
from lamplighter.usecases.sessions import chain

if TYPE_CHECKING:
    from lamplighter.supervisor.actions.gate import Gate

Check = Callable[[Session, Service], Awaitable[list[CheckResult]]]

PAUSE_SECONDS: Final = (0.25, 5.0)
SHOWN_CHARS: Final = 300
_ENDED: Final = "the session ended"


async def objection(gate: "Gate", name: str, action: Action) -> str:
    """Return why an action would not help a service now; empty if it may.

    If no declared action repairs the failure, a person is requested.
    """
    service = gate.services.find(name)
    if service is None or not service.checks:
        return ""
    try:
        results = await _check_service(gate, service)
    except Conflict as error:
        return str(error).rstrip(".")
    why = repairs.no_repair_reason(service, action, results)
    if why != repairs.HEALTHY_AGAIN and (lost := await _lost_need(gate, service, action)):
        return lost
    useless = await _useless(gate, service, results)
    others = any(
        repairs.repairable_checks(each, results)
        for each in service.actions
        if each.name not in useless
    )
    failing = repairs.repairable_checks(action, results)
    repaired = gate.failed[service.name, action.name] = {each.name for each in failing}
    failed = {each.name for each in results if not each.ok}
    gate.others[service.name, action.name] = failed - repaired
    if not why and action.name in useless and action.approve is not ApprovalPolicy.ALWAYS:
        why = useless[action.name]
    elif not why:
        why = await _flaps(gate, service, action, results)
        others = False
    if why and why != repairs.HEALTHY_AGAIN and not others and not gate.session.dry_run:
        await chain.ask_person(gate.here.db, gate.session, service.name, why, now=gate.here.now())
    return why


async def confirm(
    gate: "Gate", use: CooldownUse, action: Action, text: str
) -> tuple[UseOutcome, str]:
    """Wait until the checks that failed before an action pass; only they confirm a success.

    The built-in engine waits by itself, as long as a memory states: its measurement confirms the
    use.
    """
    outcome, took, began = UseOutcome.UNCONFIRMED, None, monotonic()
    why, ended = _ENDED, gate.here.now()
    try:
        with gate.checking():
            why = await _still_failing(gate, use, action)
    finally:  # cancelled: the session ends
        if why:
            text = f"{text}; not confirmed: {shorten(one_line(why), SHOWN_CHARS)}"
        elif gate.session.engine != PROBE:
            outcome, took = UseOutcome.SUCCESS, round(monotonic() - began, 1)
        settled = act.settle(gate.here.db, use, outcome, text=text, healthy_after=took, now=ended)
        await asyncio.shield(asyncio.ensure_future(settled))
    return outcome, text


async def credit(gate: "Gate", service: str, results: Sequence[CheckResult]) -> None:
    """Confirm an action later: a further check of its session found that its checks pass."""
    passing = {each.name for each in results if each.ok}
    uses = [
        use
        for use in await cooldowns.of_sessions(gate.here.db, [gate.session.id])
        if use.service == service
    ]
    for use in uses[-1:]:
        names = gate.failed.get((service, use.name))
        if use.outcome is UseOutcome.UNCONFIRMED and names and names <= passing:
            words = "confirmed by a later check"
            await act.settle(gate.here.db, use, UseOutcome.SUCCESS, text=words, now=gate.here.now())


async def _still_failing(gate: "Gate", use: CooldownUse, action: Action) -> str:
    """Return the check that failed before an action and still fails; empty if all pass."""
    names = gate.failed.get((use.service, action.name))
    service, began = gate.services.find(use.service), monotonic()
    if service is None or not names:
        return f"{use.service} has no checks"
    if gate.session.engine == PROBE:
        return ""
    once = tuple(replace(each, retries=0) for each in service.checks if each.name in names)
    while True:
        try:
            results = await _run_checks(gate, replace(service, checks=once))
        except Conflict as error:
            return str(error)
        failing = [each for each in results if not each.ok]
        if not failing or monotonic() >= began + action.wait:
            break
        least, most = PAUSE_SECONDS
        await asyncio.sleep(min(most, max(least, (monotonic() - began) / 20)))
    await _record_results(gate, results)
    return "; ".join(f"{each.name}: {gate.here.redact(each.detail)}" for each in failing)


async def _flaps(
    gate: "Gate", service: Service, action: Action, results: Sequence[CheckResult]
) -> str:
    """Return that a service failed too often for another automatic repair."""
    if action.approve is ApprovalPolicy.ALWAYS:  # a person approves each time
        return ""
    failing = repairs.repairable_checks(action, results)
    names = [each.name for each in failing]
    limit = gate.active.flap_limit
    why = await act.flapping_objection(
        gate.here.db, service.name, names, limit=limit, now=gate.here.now()
    )
    return f"{why}; now: {failing[0].detail}" if why else ""


async def _lost_need(gate: "Gate", service: Service, action: Action) -> str:
    """Return that the repair of a dependency failed, and request a person for it.

    This does not limit a person's own session, and actions that a person approves each time.
    """
    if gate.session.trigger is Trigger.MANUAL or action.approve is ApprovalPolicy.ALWAYS:
        return ""
    need, why = await lost_need(gate.here.db, gate.services, service, now=gate.here.now())
    if need and not gate.session.dry_run:
        await chain.ask_person(gate.here.db, gate.session, need, why, now=gate.here.now())
    return f"{service.name} depends on {need}, whose repair did not last ({why})" if need else ""


async def _useless(
    gate: "Gate", service: Service, results: Sequence[CheckResult]
) -> Mapping[str, str]:
    """Return the actions that are known not to help now; a person's own session may try them."""
    if gate.session.trigger is Trigger.MANUAL:
        return {}
    now_failing = "\n".join(f"{each.name}: {each.detail}" for each in results if not each.ok)
    evidence = await open_evidence(gate.here.db, service.name) or now_failing
    return await refused_actions(gate.here.db, service, evidence, now=gate.here.now())


async def _check_service(gate: "Gate", service: Service) -> list[CheckResult]:
    """Run a service's checks now, and store their results as evidence.

    A single attempt confirms a failure that a scheduled check measured a moment ago.
    """
    failed = await series.just_failed(gate.here.db, [service.name], now=gate.here.now())
    made = tuple(
        replace(each, retries=0) if (service.name, each.name) in failed else each
        for each in service.checks
    )
    with gate.checking():
        results = await _run_checks(gate, replace(service, checks=made))
    return await _record_results(gate, results)


async def _run_checks(gate: "Gate", service: Service) -> list[CheckResult]:
    [resolved] = await push_checks.with_results(gate.here.db, [service])
    return await gate.check(gate.session, resolved)


async def _record_results(gate: "Gate", results: Sequence[CheckResult]) -> list[CheckResult]:
    results = [replace(each, detail=gate.here.redact(each.detail)) for each in results]
    async with writing(gate.here.db):
        for each in results:
            await checks.insert(gate.here.db, gate.session.id, each, now=gate.here.now())
    return results
