"""Which service failed first, told from what was seen now and before: pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from statistics import median

from lamplighter.domain.frames import FAILS_WITH
from lamplighter.domain.service import Service
from lamplighter.domain.text import clock
from lamplighter.engines.probe.facts import Facts, Outcome, Past
from lamplighter.engines.probe.request import Request

Seen = Mapping[str, Sequence[Outcome]]


@dataclass(frozen=True, slots=True)
class Case:
    """Why a service fails: what it needs and what failed before it, or nothing but itself."""

    words: str
    cause: Service | None = None

    def __str__(self) -> str:
        return self.words


def case(service: Service, outcome: Outcome, request: Request, seen: Seen) -> Case:
    """Say which failing service is at the bottom of this, and since when this one fails."""
    facts = request.facts
    cause = root(service, request, seen)
    history = _history(facts.past(service, outcome.check), facts.now)
    if cause is None:
        needed = [each.name for each in request.needs(service)]
        well = f"what it needs is well ({', '.join(needed)}); " if needed else ""
        return Case(f"{well}{history}")
    own, other = first_failed(service, facts), first_failed(cause, facts)
    if own and _well_since(cause, own, facts):
        later = f"{cause.name}, which it needs, fails too, but this one failed before it"
        return Case(f"{later}, at {clock(own.at, facts.now, seconds=True)}; {history}")
    order = _order(own, other, facts.now)
    return Case(f"{cause.name}, which it needs, {order}; {history}", cause)


def root(service: Service, request: Request, seen: Seen) -> Service | None:
    """Return the failing service furthest down that this one needs; None when all are well."""
    ill = [
        each
        for each in request.needs(service)
        if any(not outcome.ok for outcome in seen.get(each.name, ()))
    ]
    for each in ill:
        below = {needed.name for needed in request.needs(each)}
        if not below & {other.name for other in ill}:
            return each
    return None


def first_failed(service: Service, facts: Facts) -> Past | None:
    """Return the look that first saw the present failure of a service; None when only now."""
    found: list[Past] = []
    for check in service.checks:
        run = list(takewhile(lambda past: not past.ok, facts.past(service, check)))
        found += run[-1:]
    return min(found, key=lambda past: past.at, default=None)


def learned(service: Service, case: Case, facts: Facts) -> str | None:
    """Return what is worth remembering: the same cause a second time, with health in between."""
    if case.cause is None:
        return None
    name = case.cause.name
    before = [each.at for each in facts.findings.get(service.name, ()) if each.cause == name]
    looks = (past for check in service.checks for past in facts.past(service, check))
    well = [past.at for past in looks if past.ok]
    if any(at and any(each > at for each in well) for at in before):
        return FAILS_WITH.text(cause=name)
    return None


def _well_since(service: Service, failed: Past, facts: Facts) -> bool:
    """Whether a service was seen well when another one failed already."""
    looks = (past for check in service.checks for past in facts.past(service, check))
    return any(
        past.ok
        and (past.at >= failed.at or (past.session is not None and past.session == failed.session))
        for past in looks
    )


def _together(own: Past | None, other: Past | None) -> bool:
    """Whether both were first seen failing by one session: neither was before the other."""
    return bool(own and other and own.session is not None and own.session == other.session)


def _order(own: Past | None, other: Past | None, now: datetime) -> str:
    if other and _together(own, other):
        return f"fails as well, seen in the same round at {clock(other.at, now, seconds=True)}"
    return f"failed first, at {clock(other.at, now, seconds=True)}" if other else "fails as well"


def _history(past: Sequence[Past], now: datetime) -> str:
    if not past:
        return "never looked at before"
    failed = len(list(takewhile(lambda each: not each.ok, past)))
    usual = [each.latency_ms for each in past if each.ok and each.latency_ms is not None]
    used_to = f", usually in {median(usual):.0f} ms" if usual else ""
    if failed == len(past):
        return f"not well since {clock(past[-1].at, now, seconds=True)} or longer"
    looks = f", failing in {failed} looks since" if failed > 1 else ""
    return f"last well at {clock(past[failed].at, now, seconds=True)}{used_to}{looks}"
