"""Tier 3: run declared actions, the least invasive first, and wait until all is healthy."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Final

from lamplighter.domain.memory.frames import FIRST_FAILS
from lamplighter.domain.memory.memory import Category, Trust
from lamplighter.domain.services.check import PushCheck
from lamplighter.domain.services.cooldown import (
    ATTEMPTS,
    CooldownUse,
    claims_first_fails,
    first_attempt_fails,
)
from lamplighter.domain.services.cooldown import UseOutcome as Used
from lamplighter.domain.services.service import Action, ActionKind, Service
from lamplighter.engines.probe import facts as timing
from lamplighter.engines.probe import gate_client
from lamplighter.engines.probe.facts import CheckOutcome
from lamplighter.engines.probe.gate_client import GateAnswer
from lamplighter.engines.probe.request import ProbeRequest
from lamplighter.engines.probe.text import inline, seconds
from lamplighter.engines.probe.watch import ProbeSession, ServiceOutcomes, failing

CHARACTERS: Final = 1000
MIN_POLL_SECONDS: Final = 0.25
MAX_POLL_SECONDS: Final = 2.0
STABLE_SECONDS: Final = 30.0
HEALTHY_IN_A_ROW: Final = 2

_ORDER: Final = (ActionKind.RESTART, ActionKind.REDEPLOYMENT)


@dataclass(slots=True)
class Repair:
    """The repair of one service: the reason, and the attempts so far."""

    watch: ProbeSession
    service: Service
    why: str = ""
    tried: list[str] = field(default_factory=list)
    repaired: bool = False
    dry: bool = False
    turned_down: bool = False
    awaited: bool = False
    left: Sequence[CheckOutcome] = ()

    @property
    def over(self) -> bool:
        """Whether the repair is over; after a denial no other action is requested.

        Nor while the next report of a job is `awaited`, which alone shows whether one helped.
        """
        return self.repaired or self.dry or self.turned_down or self.awaited

    def summary(self) -> str:
        """Return a short outcome."""
        if self.repaired:
            return f"{self.service.name} is healthy"
        return f"{self.service.name}: {'; '.join(self.tried) or 'no action was possible'}"


async def run(watch: ProbeSession) -> str:
    """Repair the services, dependencies first; escalate to a person if needed."""
    done: list[Repair] = []
    for layer in _layers(watch):
        done += await asyncio.gather(*(_repair(watch, service) for service in layer))
    if not done:
        return "No services to repair."
    return f"{inline('; '.join(each.summary() for each in done), 1000)}."


def _layers(watch: ProbeSession) -> list[list[Service]]:
    """Return the services in layers: each depends only on earlier layers."""
    left = list(watch.request.services)
    layers: list[list[Service]] = []
    while left:
        names = {each.name for each in left}
        needs = watch.request.needs
        ready = [each for each in left if names.isdisjoint(need.name for need in needs(each))]
        layers.append(ready or left)
        left = [each for each in left if each not in layers[-1]]
    return layers


async def _repair(watch: ProbeSession, service: Service) -> Repair:
    repair = Repair(watch, service)
    outcomes, below = await _look(watch, service)
    if not failing(outcomes):
        repair.repaired = True
        watch.emit_text(f"[EVENT:info:{service.name}] Already healthy; no action taken")
        return repair
    repair.why = failing(outcomes)[0].detail
    if ill := [each.name for each, found in below if failing(found)]:
        repair.tried.append(f"its dependencies must be healthy first: {', '.join(ill)}")
    for action in [] if ill else _actions(service, watch.request):
        await _act(repair, action)
        if repair.over:
            break
    if repair.turned_down and not failing((await watch.look_at([service]))[-1][1]):
        repair.repaired = True  # recovered without help, or repaired by the person
        watch.emit_text(f"[EVENT:info:{service.name}] Healthy again; no action taken")
    if repair.left:
        repair.why = "; ".join(f"{each.check.name}: {each.detail}" for each in repair.left)
        repair.tried.append("no action that ran repairs these checks")
    if repair.left or not (repair.repaired or repair.dry or repair.awaited):
        words = f"{repair.why}; {'; '.join(repair.tried) or 'no action is declared'}"
        watch.emit_text(f"[ESCALATE:{service.name}] {inline(words, CHARACTERS)}")
    return repair


async def _look(
    watch: ProbeSession, service: Service
) -> tuple[Sequence[CheckOutcome], list[ServiceOutcomes]]:
    """Return the outcomes of a service, and those of its dependencies."""
    needed = [each for each in watch.request.needs(service) if each not in watch.request.services]
    if outcomes := _just_failed(watch, service):
        return outcomes, await watch.look_at(needed)
    *below, own = await watch.look_at([*needed, service])
    return own[1], below


def _just_failed(watch: ProbeSession, service: Service) -> Sequence[CheckOutcome]:
    """Return the checks of a known fix that failed a moment ago; the gate runs them again."""
    failed = watch.request.facts.failed
    keys = {f"{service.name}/{each.name}": each for each in service.checks}
    return [
        CheckOutcome(check=check, ok=False, latency_ms=0, detail=failed[key])
        for key, check in keys.items()
        if watch.request.fix_only and key in failed
    ]


def _actions(service: Service, request: ProbeRequest) -> list[Action]:
    """Return the known fix first, or alone; then the least invasive action first, as declared."""
    fix = request.facts.known_fix.get(service.name)
    ordered = sorted(
        service.actions, key=lambda action: (action.name != fix, _ORDER.index(action.kind))
    )
    return ordered[:1] if fix and request.fix_only else ordered


async def _act(repair: Repair, action: Action) -> None:
    """Run an action; run it twice if the first attempt is known to fail."""
    watch, service = repair.watch, repair.service
    attempts = ATTEMPTS if _needs_second_attempt(watch, service, action.kind) else 1
    verdict, took = await _attempt(repair, action, again=None)
    while took is None and verdict.use and verdict.attempts and verdict.attempts < attempts:
        watch.emit_text(
            f"The first {action.kind} of {service.name} is known to fail. Running it again."
        )
        verdict, took = await _attempt(repair, action, again=verdict.use)
    if verdict.outcome is Used.WOULD:
        repair.dry = True
        repair.tried.append(verdict.words)
    elif verdict.outcome is Used.UNNEEDED:
        repair.repaired = True
        await watch.look_at([service])
    elif verdict.outcome is Used.REFUSED:
        repair.turned_down = verdict.turned_down
        repair.tried.append(f"{action.kind} refused: {verdict.words}")
    elif verdict.outcome is Used.UNCONFIRMED and _awaited_jobs(repair, verdict):
        repair.awaited = True
        jobs = ", ".join(_awaited_jobs(repair, verdict))
        repair.tried.append(f"{action.kind} ran; the next report of {jobs} shows whether it helped")
        watch.emit_text(f"[EVENT:info:{service.name}] {inline(repair.tried[-1], CHARACTERS)}")
    elif took is None:
        waited = timing.startup_timeout(timing.startup_claim(service, watch.request.facts), action)
        why = f"not healthy after {seconds(waited)}"
        why = verdict.words if verdict.outcome is Used.FAILURE else why
        repair.tried.append(f"{action.kind} did not help: {why}")
        watch.emit_text(
            f"[COOLDOWN:{action.kind}:{service.name}] failure - {inline(why, CHARACTERS)}"
        )
    else:
        repair.repaired = True
        _record_lesson(watch, service, action, verdict, took)
        # confirms the repair by a check before the next round
        [(_, after)] = await watch.look_at([service])
        repair.left = failing(after)


def _awaited_jobs(repair: Repair, verdict: GateAnswer) -> list[str]:
    """Return the failing checks that the action repairs and that only their jobs can report."""
    return [
        each.name
        for each in repair.service.checks
        if each.name in verdict.repairs and isinstance(each, PushCheck)
    ]


async def _attempt(
    repair: Repair, action: Action, *, again: int | None
) -> tuple[GateAnswer, float | None]:
    """Request an action from the gate; return its verdict and the seconds until healthy."""
    watch, service = repair.watch, repair.service
    names = {"service": service.name, "action": action.name, "kind": action.kind}
    use = watch.begin_use("run_action", **names, again=again)
    verdict = await gate_client.run_action(
        watch.request.gate, service.name, action.name, again=again, reason=repair.why
    )
    words = f"{verdict.outcome}: {verdict.words}"
    failed = verdict.outcome in (Used.REFUSED, Used.FAILURE)
    watch.end_use(use, inline(words, CHARACTERS), failed=failed)
    if verdict.outcome is not Used.UNCONFIRMED or _awaited_jobs(repair, verdict):
        return verdict, None
    # not for the failing checks that the action does not repair
    own = tuple(each for each in service.checks if each.name not in verdict.others)
    return verdict, await _wait(watch, replace(service, checks=own), action, verdict)


async def _wait(
    watch: ProbeSession, service: Service, action: Action, verdict: GateAnswer
) -> float | None:
    """Wait until a service is healthy, as long as its memories suggest; return the seconds."""
    claim = timing.startup_claim(service, watch.request.facts)
    allowed = timing.startup_timeout(claim, action)
    memory = claim and claim.memory.id
    use = watch.begin_use("wait", service=service.name, seconds=allowed, memory=memory)
    if claim:
        said = f"memory {claim.memory.id} says {seconds(claim.seconds)}"
        watch.emit_text(f"Waiting up to {seconds(allowed)} for {service.name}: {said}.")
    took = await _healthy_after(watch, service, allowed)
    if took is None:
        words = f"{service.name} is not healthy after {seconds(allowed)}"
        watch.end_use(use, words, failed=True)
        return None
    values = {"use": verdict.use, "healthy_after": took}
    watch.end_use(use, f"{service.name} is healthy after {took:g} s", values=values)
    return took


async def _healthy_after(watch: ProbeSession, service: Service, allowed: float) -> float | None:
    began = reported = monotonic()
    well, first = 0, 0.0
    while well < HEALTHY_IN_A_ROW:
        passed = monotonic() - began
        if passed > allowed:
            return None
        if await _is_healthy(watch, service):
            first = first if well else monotonic() - began
            well += 1
        else:
            well = 0
        if monotonic() - reported > STABLE_SECONDS:
            reported = monotonic()
            watch.emit_text(f"Still waiting for {service.name}: {reported - began:.0f} s so far.")
        await asyncio.sleep(min(MAX_POLL_SECONDS, max(MIN_POLL_SECONDS, passed / 20)))
    return round(first, 1)


async def _is_healthy(watch: ProbeSession, service: Service) -> bool:
    once = (replace(check, retries=0) for check in service.checks)
    results = await asyncio.gather(*(watch.run_check(check, look_again=False) for check in once))
    return all(each.ok for each in results)


def _needs_second_attempt(watch: ProbeSession, service: Service, kind: ActionKind) -> bool:
    facts = watch.request.facts
    claims = (
        each.category in (Category.BEHAVIOR, Category.REMEDIATION)
        and each.trust == Trust.TRUSTED  # same condition as in the gate
        and claims_first_fails(each.observation)
        for each in facts.told_of(service)
    )
    return first_attempt_fails(_uses(facts, service, kind)) or any(claims)


def _record_lesson(
    watch: ProbeSession, service: Service, action: Action, verdict: GateAnswer, seconds: float
) -> None:
    """Report the outcome, and the lesson to remember."""
    name, facts = service.name, watch.request.facts
    claim = timing.startup_claim(service, facts)
    how = ", at the second attempt" if verdict.attempts > 1 else ""
    how += f", {timing.compare_claim(seconds, claim)}" if claim else ""
    watch.emit_text(
        f"[COOLDOWN:{action.kind}:{name}] success - Healthy again after {seconds:g} s{how}"
    )
    lesson = timing.startup_lesson(seconds, claim)
    if lesson and facts.worth_saying(service, lesson):
        watch.emit_text(f"[MEMORY:timing:{name}] {inline(lesson, CHARACTERS)}")
    this = CooldownUse(
        id=verdict.use or 0,
        service="",
        action=action.kind,
        outcome=Used.SUCCESS,
        attempts=verdict.attempts,
        created_at=facts.now,
    )
    lesson = FIRST_FAILS.text(action=action.kind)
    fails_at_first = first_attempt_fails([this, *_uses(facts, service, action.kind)])
    if fails_at_first and facts.worth_saying(service, lesson):
        watch.emit_text(f"[MEMORY:remediation:{name}] {lesson}")


def _uses(facts: timing.RoundFacts, service: Service, kind: ActionKind) -> list[CooldownUse]:
    return [use for use in facts.uses.get(service.name, ()) if use.action is kind]
