"""The outcome of a session in a few words, from what was recorded while it ran."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from lamplighter.domain.actions.approval import Approval, ApprovalState
from lamplighter.domain.services.cooldown import DID_NOT_LAST, CooldownUse, UseOutcome
from lamplighter.domain.services.event import Event, Level
from lamplighter.domain.services.service import GENERAL, normalize_service_name
from lamplighter.domain.sessions.handoff import Escalation, EscalationState
from lamplighter.domain.sessions.session import CheckResult, OutcomeState, Status

ENDED_AS_PLANNED: Final = (Status.COMPLETED, Status.ESCALATED)
MINUTES_FROM: Final = 120


@dataclass(frozen=True, slots=True)
class SessionOutcome:
    """The outcome of a session, as a state and as text."""

    state: OutcomeState = OutcomeState.UNKNOWN
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecords:
    """The records of one session, each oldest first."""

    status: Status
    results: Sequence[CheckResult] = ()
    uses: Sequence[CooldownUse] = ()
    escalations: Sequence[Escalation] = ()
    approvals: Sequence[Approval] = ()
    events: Sequence[Event] = ()


def session_outcome(records: SessionRecords) -> SessionOutcome:
    """Return the outcome of a session that ended: the first rule that applies decides."""
    rules = (
        _person_outcome,
        _aborted_outcome,
        _brief_outcome,
        _repaired_outcome,
        _denied_outcome,
        _refused_outcome,
        _planned_outcome,
        _failing_outcome,
        _healthy_outcome,
    )
    return next(filter(None, (rule(records) for rule in rules)), SessionOutcome())


def _person_outcome(records: SessionRecords) -> SessionOutcome | None:
    waiting = _escalated_services(records, EscalationState.PERSON)
    if waiting:
        return SessionOutcome(OutcomeState.NEEDS_YOU, _with_services("needs you", waiting))
    handled = _escalated_services(records, EscalationState.CLOSED)
    if handled:
        return SessionOutcome(OutcomeState.HANDLED, _with_services("needed you", handled))
    return None


def _aborted_outcome(records: SessionRecords) -> SessionOutcome | None:
    return None if records.status in ENDED_AS_PLANNED else SessionOutcome()


def _brief_outcome(records: SessionRecords) -> SessionOutcome | None:
    """Name the last repair after which the service soon failed again."""
    brief = [use for use in records.uses if use.did_not_last]
    if not brief:
        return None
    what = brief[-1].name or brief[-1].action
    words = f"{what} of {brief[-1].service} {DID_NOT_LAST}"
    return SessionOutcome(OutcomeState.FAILING, words)


def _repaired_outcome(records: SessionRecords) -> SessionOutcome | None:
    failing = _failing_services(records)
    repaired = [
        use
        for use in records.uses
        if use.outcome is UseOutcome.SUCCESS and normalize_service_name(use.service) not in failing
    ]
    if not repaired:
        return None
    names = {normalize_service_name(use.service): use.service for use in repaired}
    words = f"repaired {len(names)} services"
    if len(names) == 1:
        words = f"repaired {repaired[-1].service}{_format_time(repaired[-1].healthy_after)}"
    if failing:
        words += f", {_count_services(failing.values())}"
    return SessionOutcome(OutcomeState.REPAIRED, words)


def _denied_outcome(records: SessionRecords) -> SessionOutcome | None:
    denied = [each for each in records.approvals if each.state is ApprovalState.DENIED]
    if not denied:
        return None
    return SessionOutcome(OutcomeState.DENIED, f"{denied[-1].name} of {denied[-1].service} denied")


def _refused_outcome(records: SessionRecords) -> SessionOutcome | None:
    return _last_use_outcome(
        records, UseOutcome.REFUSED, OutcomeState.REFUSED, "{what} of {service} refused"
    )


def _planned_outcome(records: SessionRecords) -> SessionOutcome | None:
    return _last_use_outcome(
        records, UseOutcome.WOULD, OutcomeState.PLANNED, "{what} of {service} planned"
    )


def _last_use_outcome(
    records: SessionRecords, outcome: UseOutcome, state: OutcomeState, template: str
) -> SessionOutcome | None:
    """Name the last use if all of them ended the same way."""
    uses = [use for use in records.uses if use.outcome is not UseOutcome.UNNEEDED]
    if not uses or any(use.outcome is not outcome for use in uses):
        return None
    what = uses[-1].name or uses[-1].action
    return SessionOutcome(state, template.format(what=what, service=uses[-1].service))


def _failing_outcome(records: SessionRecords) -> SessionOutcome | None:
    failing = _failing_services(records)
    if not failing:
        return None
    return SessionOutcome(OutcomeState.FAILING, _count_services(failing.values()))


def _healthy_outcome(records: SessionRecords) -> SessionOutcome | None:
    newest = _latest_results(records.results)
    names = list(dict.fromkeys(result.service for result in newest))
    if not names:
        return None
    words = f"{names[0]} healthy" if len(names) == 1 else "all healthy"
    warned = len({result.service for result in newest if result.warned})
    if warned:
        words += f", {warned} {'warning' if warned == 1 else 'warnings'}"
    return SessionOutcome(OutcomeState.HEALTHY, words)


def _failing_services(records: SessionRecords) -> dict[str, str]:
    """Return the services that failed at the end, by checks, else by reports and escalations."""
    newest = _latest_results(records.results)
    checked = {normalize_service_name(result.service) for result in newest}
    escalated = [
        each.service
        for each in records.escalations
        if normalize_service_name(each.service) != GENERAL
    ]
    critical = [each.service for each in records.events if each.level is Level.CRITICAL]
    reported = [
        name
        for name in (*escalated, *critical)
        if name and normalize_service_name(name) not in checked
    ]
    failed = [result.service for result in newest if not result.ok]
    return {normalize_service_name(name): name for name in (*failed, *reported)}


def _escalated_services(records: SessionRecords, state: EscalationState) -> list[str]:
    return [each.service for each in records.escalations if each.state is state]


def _with_services(words: str, services: Sequence[str]) -> str:
    names = list(dict.fromkeys(services))
    if len(names) > 1:
        return f"{words} for {len(names)} services"
    return words if normalize_service_name(names[0]) == GENERAL else f"{words} for {names[0]}"


def _count_services(services: Iterable[str]) -> str:
    names = list(services)
    return f"{names[0]} failing" if len(names) == 1 else f"{len(names)} failing"


def _format_time(seconds: float | None) -> str:
    if seconds is None:
        return ""
    rounded = max(1, round(seconds))
    return f" in {rounded} s" if rounded < MINUTES_FROM else f" in {round(rounded / 60)} min"


def _latest_results(results: Iterable[CheckResult]) -> list[CheckResult]:
    """Return the last result of each check."""
    return list(
        {
            (normalize_service_name(result.service), result.name): result for result in results
        }.values()
    )
