"""Findings of a round, derived from check results, history and memories. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from statistics import median
from typing import Final

from lamplighter.domain.memory.frames import ANSWERS, FLAPS
from lamplighter.domain.services.check import Check, HttpCheck, TcpCheck
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.service import Service
from lamplighter.domain.sessions.handoff import is_new_failure
from lamplighter.domain.text import format_time
from lamplighter.engines.probe.facts import CheckOutcome, MemoryFact, PastResult, RoundFacts
from lamplighter.engines.probe.request import ProbeRequest
from lamplighter.engines.probe.text import harmless, inline

ROUNDS: Final = 3
"""How many equal results are worth a memory."""

EVENT_CHARACTERS: Final = 1500
REASON_CHARACTERS: Final = 1000
MAX_NAMED: Final = 5

_ORDER: Final = (Level.CRITICAL, Level.WARNING, Level.INFO)
_ANSWERS: Final = re.compile(
    r"\b(?:answers?|returns?|responds?)\b(?: with)?(?: an?)?(?: HTTP)?(?: status)? ([1-5]\d\d)\b"
    r"(?: (?:at|on|for|from) (/\S*(?: \([\w-]+ check\))?))?",
    re.IGNORECASE,
)
_HEALTHY: Final = re.compile(r"\bhealthy\b", re.IGNORECASE)
_NOT_HEALTHY: Final = re.compile(r"\bnot healthy\b", re.IGNORECASE)


def needs_repeat(service: Service, check: Check, facts: RoundFacts) -> bool:
    """Whether the healthy answer to this check is still unknown."""
    if not isinstance(check, HttpCheck) or check.statuses:
        return False
    return not facts.history_of(service, check) and not _claimed_statuses(service, check, facts)


def service_markers(
    service: Service, outcomes: Sequence[CheckOutcome], facts: RoundFacts
) -> list[str]:
    """Return the marker lines of one service: its event, then its memories."""
    learned = (
        f"[MEMORY:behavior:{service.name}] {words}"
        for outcome in outcomes
        for words in _lessons(service, outcome, facts)
        if facts.worth_saying(service, words)
    )
    return [*_event(service, outcomes, facts), *learned, *_escalation(service, outcomes, facts)]


def is_warning(service: Service, outcome: CheckOutcome, facts: RoundFacts) -> bool:
    """Whether a check passed with a warning."""
    return outcome.ok and next(_troubles(service, outcome, facts), None) is not None


def describe(service: Service, outcome: CheckOutcome, facts: RoundFacts) -> str:
    """Return the remarks on a check."""
    return _remark(service, outcome, facts)[1]


def level(service: Service, outcomes: Sequence[CheckOutcome], facts: RoundFacts) -> Level:
    """Return the level of its worst check."""
    levels = (_remark(service, outcome, facts)[0] for outcome in outcomes)
    return min(levels, key=_ORDER.index, default=Level.INFO)


def summary(results: Sequence[tuple[Service, Sequence[CheckOutcome], Level]]) -> str:
    """Return the whole round in one sentence."""
    if not results:
        return "No services to check."
    failing = [each for each in results if each[2] is Level.CRITICAL]
    warned = sum(worst is Level.WARNING for _, _, worst in results)
    words = f"{len(results) - len(failing)} of {len(results)} services healthy"
    words += f", {warned} with {'a warning' if warned == 1 else 'warnings'}" if warned else ""
    for service, outcomes, _ in failing[:MAX_NAMED]:
        words += f"; {service.name}: {next(each.detail for each in outcomes if not each.ok)}"
    words += f"; and {len(failing) - MAX_NAMED} more" if len(failing) > MAX_NAMED else ""
    return f"{inline(words, EVENT_CHARACTERS)}."


def _event(service: Service, outcomes: Sequence[CheckOutcome], facts: RoundFacts) -> Iterator[str]:
    """Yield the event of a service that is not healthy, or is healthy again.

    A pending request to a person is reported once until it changes.
    """
    remarks = [_remark(service, outcome, facts) for outcome in outcomes]
    worst = level(service, outcomes, facts)
    if worst is Level.INFO:
        before = (facts.history_of(service, each.check)[:1] for each in outcomes if each.ok)
        if all(past.ok for last in before for past in last):
            return
        text = "Healthy again: " + ", ".join(remark for _, remark in remarks)
    else:
        ordered = sorted(remarks, key=lambda each: _ORDER.index(each[0]))
        text = "; ".join(remark for severity, remark in ordered if severity is not Level.INFO)
    if worst is Level.CRITICAL and (pending := _pending_person(service, facts)):
        requested_at, request = pending
        if facts.unchanged(service, outcomes, after=requested_at):
            return
        # a person was already requested: no alarm in each round
        worst, text = Level.WARNING, f"{text}; {request}"
    yield f"[EVENT:{worst}:{service.name}] {inline(text, EVENT_CHARACTERS)}"


def _escalation(
    service: Service, outcomes: Sequence[CheckOutcome], facts: RoundFacts
) -> Iterator[str]:
    """Escalate a failing service, unless a person has it and nothing has changed."""
    failing = [f"{each.check.name}: {each.detail}" for each in outcomes if not each.ok]
    pending = _pending_person(service, facts)
    # again if a check fails that had passed since the escalation
    if failing and (
        pending is None
        or any(
            not each.ok and is_new_failure(facts.history_of(service, each.check), pending[0])
            for each in outcomes
        )
    ):
        yield f"[ESCALATE:{service.name}] {inline('; '.join(failing), REASON_CHARACTERS)}"


def _pending_person(service: Service, facts: RoundFacts) -> tuple[datetime, str] | None:
    """Return the pending request to a person for this service, or for one that it depends on."""
    for name in (service.name, *facts.needs.get(service.name, service.depends_on)):
        about = "" if name == service.name else f" for {name}"
        if since := facts.parked.get(name):
            return since, f"approval{about} was requested at {format_time(since, facts.now)}"
        if since := facts.waiting.get(name):
            return since, f"escalated to a person{about} at {format_time(since, facts.now)}"
    return None


def _remark(service: Service, outcome: CheckOutcome, facts: RoundFacts) -> tuple[Level, str]:
    name = outcome.check.name
    if not outcome.ok:
        return Level.CRITICAL, f"{name}: {outcome.detail}"
    if troubles := list(_troubles(service, outcome, facts)):
        return Level.WARNING, f"{name}: {', '.join(troubles)}"
    if outcome.status is None:
        result = "open" if isinstance(outcome.check, TcpCheck) else outcome.detail or "passed"
        return Level.INFO, f"{name} {result}"
    took = _describe_duration(outcome)
    if outcome.status in (status for status, _ in _claimed_statuses(service, outcome.check, facts)):
        label = "" if name == outcome.check.kind else f"{name}: "
        return Level.INFO, f"{label}HTTP {outcome.status}, as remembered, in {took}"
    return Level.INFO, f"{name} {outcome.status} in {took}"


def _troubles(service: Service, outcome: CheckOutcome, facts: RoundFacts) -> Iterator[str]:
    check = outcome.check
    if outcome.flapped:
        known = ", as remembered" if facts.find_memory(service, _flap_text(check)) else ""
        yield f"failed {outcome.failed} of {outcome.attempts} attempts{known} ({outcome.detail})"
    if outcome.warning:
        yield outcome.warning
    if not isinstance(check, HttpCheck):
        return
    if check.latency_ms is not None and outcome.latency_ms > check.latency_ms:
        yield f"took {_describe_duration(outcome)}, slower than {check.latency_ms} ms"
    claimed = [status for status, _ in _claimed_statuses(service, check, facts)]
    if not check.statuses and claimed and outcome.status not in claimed:
        yield f"answers HTTP {outcome.status} instead of {claimed[0]}, as before"


def _describe_duration(outcome: CheckOutcome) -> str:
    return f"{max(1, round(outcome.latency_ms))} ms"


def _lessons(service: Service, outcome: CheckOutcome, facts: RoundFacts) -> Iterator[str]:
    if lesson := _usual_answer(service, outcome, facts):
        yield lesson
    past = facts.history_of(service, outcome.check)[: ROUNDS - 1]
    if outcome.flapped and len(past) == ROUNDS - 1 and all(each.flapped for each in past):
        yield _flap_text(outcome.check)


def _usual_answer(service: Service, outcome: CheckOutcome, facts: RoundFacts) -> str | None:
    """Return the usual answer of this healthy service, after enough equal answers.

    Every healthy service answers 2xx: that is worth a memory only against another claim.
    """
    check, status = outcome.check, outcome.status
    if not outcome.ok or status is None or not isinstance(check, HttpCheck) or check.statuses:
        return None
    past = facts.history_of(service, check)[: ROUNDS - 1]
    rounds = (status, *(each.status for each in past if each.ok))
    if (status,) * ROUNDS not in (rounds, outcome.statuses):
        return None
    claims = _claimed_statuses(service, check, facts)
    alike = [held for claimed, held in claims if claimed == status]
    if status // 100 == 2 and len(alike) == len(claims):
        return None
    words = ANSWERS.text(status=status, place=_place(service, check), tail=status != 200)
    # if similar claims exist in other words, ours would be a duplicate
    return None if alike and not facts.find_memory(service, words) else words


def _flap_text(check: Check) -> str:
    return FLAPS.text(check=check.name)


def _claimed_statuses(
    service: Service, check: Check, facts: RoundFacts
) -> list[tuple[int, MemoryFact]]:
    """Return the healthy statuses in memories of this check, highest confidence first."""
    if not isinstance(check, HttpCheck):
        return []
    places = {harmless(check.place, 80), _place(service, check)}
    if sum(isinstance(each, HttpCheck) for each in service.checks) == 1:
        places.add("")
    return [
        (int(match[1]), fact)
        for fact in sorted(facts.told_of(service), key=lambda each: -each.confidence)
        if (match := _ANSWERS.search(fact.observation))
        and _HEALTHY.search(fact.observation)
        and not _NOT_HEALTHY.search(fact.observation)
        and (match[2] or "").rstrip(",.;") in places
    ]


def _place(service: Service, check: HttpCheck) -> str:
    """Return the path, and the check's name if another check requests the same path."""
    path = harmless(check.place, 80)
    twins = [each for each in service.checks if isinstance(each, HttpCheck)]
    alone = sum(each.place == check.place for each in twins) == 1
    return path if alone else f"{path} ({check.name} check)"


OutcomesByService = Mapping[str, Sequence[CheckOutcome]]


@dataclass(frozen=True, slots=True)
class FailureCause:
    """Why a service fails: a dependency that failed before it, or the service itself."""

    text: str
    cause: Service | None = None

    def __str__(self) -> str:
        return self.text


def find_cause(
    service: Service, outcome: CheckOutcome, request: ProbeRequest, outcomes: OutcomesByService
) -> FailureCause:
    """Return the root cause, and since when this service fails."""
    facts = request.facts
    cause = root_failure(service, request, outcomes)
    passed = facts.passed.get(f"{service.name}/{outcome.check.name}")
    history = _history(facts.history_of(service, outcome.check), passed, facts.now)
    if cause is None:
        needed = [each.name for each in request.needs(service)]
        well = f"its dependencies are healthy ({', '.join(needed)}); " if needed else ""
        return FailureCause(f"{well}{history}")
    own, other = first_failure(service, facts), first_failure(cause, facts)
    if own and _healthy_between(cause, own, facts):
        at = format_time(own.at, facts.now, seconds=True)
        later = f"its dependency {cause.name} fails too, but {service.name} failed before it"
        return FailureCause(f"{later}, at {at}; {history}")
    order = _order(own, other, facts.now)
    return FailureCause(f"its dependency {cause.name} {order}; {history}", cause)


def root_failure(
    service: Service, request: ProbeRequest, outcomes: OutcomesByService
) -> Service | None:
    """Return the deepest failing dependency; None when all are healthy."""
    ill = {
        each.name: each
        for each in request.needs(service)
        if not all(outcome.ok for outcome in outcomes.get(each.name, ()))
    }
    deepest = (
        each
        for each in ill.values()
        if ill.keys().isdisjoint(needed.name for needed in request.needs(each))
    )
    return next(deepest, None)


def first_failure(service: Service, facts: RoundFacts) -> PastResult | None:
    """Return the first check result of the current failure; None for a new failure."""
    failures = (
        past
        for check in service.checks
        for past in takewhile(lambda past: not past.ok, facts.history_of(service, check))
    )
    return min(failures, key=lambda past: past.at, default=None)


def _healthy_between(service: Service, failed: PastResult, facts: RoundFacts) -> bool:
    """Whether a service was still healthy when another already failed."""
    history = (past for check in service.checks for past in facts.history_of(service, check))
    return any(
        past.ok
        and (past.at >= failed.at or (past.session is not None and past.session == failed.session))
        for past in history
    )


def _order(own: PastResult | None, other: PastResult | None, now: datetime) -> str:
    if other is None:
        return "fails too"
    at = format_time(other.at, now, seconds=True)
    if own and own.session is not None and own.session == other.session:  # neither failed first
        return f"fails too, since the same round at {at}"
    return f"failed first, at {at}"


def _history(earlier: Sequence[PastResult], passed: datetime | None, now: datetime) -> str:
    """Return since when a check fails; it `passed` last by the schedule, if that is known."""
    times = [each.at for each in earlier if each.ok] + ([passed] if passed else [])
    if not times:
        if not earlier:
            return "not checked before"
        return f"failing since {format_time(earlier[-1].at, now, seconds=True)} or longer"
    failed = sum(each.at > max(times) for each in earlier)
    usual = [each.latency_ms for each in earlier if each.ok and each.latency_ms]
    used_to = f", usually in {median(usual):.0f} ms" if usual else ""
    history = f", {failed} failed checks since" if failed > 1 else ""
    return f"last healthy at {format_time(max(times), now, seconds=True)}{used_to}{history}"
