"""The handoff: the escalation of a session to the next tier, and how a chain continues or ends."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, Protocol

from lamplighter.domain.limits import MAX_TIER
from lamplighter.domain.services.cooldown import CooldownUse
from lamplighter.domain.services.event import Event
from lamplighter.domain.sessions.session import CheckResult, Session, Status
from lamplighter.domain.text import join_names

REASON_CHARS: Final = 1_000
NO_ACTION: Final = "no declared action repairs this"
"""The reason why a person was asked immediately: another attempt would change nothing."""


class EscalationState(StrEnum):
    """State of an escalation; `open` and `accepted` are not final, `person` waits for a person."""

    OPEN = "open"
    ACCEPTED = "accepted"
    TAKEN = "taken"
    DROPPED = "dropped"
    DRY = "dry"
    PERSON = "person"
    CLOSED = "closed"


class CheckedResult(Protocol):
    """A result of a check: whether it passed, and when."""

    @property
    def ok(self) -> bool:
        """Whether it passed."""

    @property
    def at(self) -> datetime | None:
        """The time of the result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Escalation:
    """Request of a session that the next tier (`tier`) handles a service."""

    id: int
    session_id: int
    child_id: int | None = None
    tier: int
    service: str
    reason: str
    state: EscalationState
    why: str = ""
    created_at: datetime
    closed_at: datetime | None = None
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Findings of an investigation: the stage that fails, and the service that failed first."""

    service: str
    check: str = ""
    stage: str
    cause: str | None = None
    detail: str = ""
    session_id: int | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Handoff:
    """The input of the next tier: services and reasons, check results, findings and actions tried.

    `changed` is the last change of the services or of their dependencies.
    """

    session_id: int
    tier: int
    escalations: tuple[Escalation, ...]
    check_results: tuple[CheckResult, ...] = ()
    findings: tuple[Finding, ...] = ()
    tried: tuple[CooldownUse, ...] = ()
    changed: tuple[Event, ...] = ()

    @property
    def services(self) -> tuple[str, ...]:
        """The escalated services, in the order of the escalations."""
        return tuple(dict.fromkeys(each.service for each in self.escalations))


@dataclass(frozen=True, slots=True)
class ChainStep:
    """The continuation of a chain after a session ended.

    `state` is the new state of its escalations, None if there are none; `status` and `reason` are
    those of the session.
    """

    status: Status
    reason: str
    state: EscalationState | None = None


def next_step(
    session: Session,
    escalations: Sequence[Escalation],
    *,
    status: Status,
    reason: str,
    max_tier: int,
) -> ChainStep:
    """Decide how a chain continues: to the next tier, never past the highest, or not at all.

    Only a completed session escalates; after any other one the next round checks again.
    """
    waiting = [each for each in escalations if each.state is EscalationState.OPEN]
    person_escalations = [each for each in escalations if each.state is EscalationState.PERSON]
    if status is not Status.COMPLETED:
        return ChainStep(status, reason, EscalationState.DROPPED if waiting else None)
    for_person = "Needs a person: {}."
    if not waiting:
        left = join_names(each.service for each in person_escalations)
        return ChainStep(status, for_person.format(left) if left else reason)
    following, names = session.next_tier, join_names(each.service for each in waiting)
    last = following > min(max_tier, MAX_TIER)
    if session.dry_run:
        target = "a person" if last else f"tier {following}"
        words = f"Dry run: {names} would be escalated to {target}."
        return ChainStep(status, words, EscalationState.DRY)
    if last:
        every = join_names(each.service for each in (*person_escalations, *waiting))
        return ChainStep(status, for_person.format(every), EscalationState.PERSON)
    return ChainStep(
        Status.ESCALATED, f"Escalated {names} to tier {following}.", EscalationState.ACCEPTED
    )


def is_new_failure(earlier: Iterable[CheckedResult], start: datetime) -> bool:
    """Whether a failing check had passed when a person was asked, and has passed ever since.

    `earlier` are the results of the check before the current one, newest first.
    """
    results = [(each.ok, each.at) for each in earlier if each.at is not None]
    later = [ok for ok, at in results if at > start]
    before = [ok for ok, at in results if at <= start][:1]
    return len(later) + len(before) > 1 and all([*later, *before])
