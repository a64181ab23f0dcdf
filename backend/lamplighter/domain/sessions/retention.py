"""How long what happened is stored, and which rounds fold to one row."""

from collections.abc import Hashable
from dataclasses import dataclass
from datetime import timedelta

from lamplighter.domain.sessions.session import OutcomeState, Session, Status, Trigger


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long each kind of row is stored; None stores it until a person removes it.

    `rounds` is the age at which unchanged healthy rounds fold to one row a day. `sessions` is that
    of the prompts, output files and results of sessions. `records` is that of sent notifications,
    used login codes and ended logins. `history` is that of the sessions themselves, with their
    requests, escalations, approvals and actions: those that a memory, an event or an incident
    names stay. `journal` is that of acts of people, which can then no more be undone.
    """

    changes: timedelta | None = timedelta(days=7)
    session_checks: timedelta | None = timedelta(days=31)
    rounds: timedelta | None = timedelta(days=7)
    transcripts: timedelta | None = timedelta(days=31)
    sessions: timedelta | None = timedelta(days=365)
    events: timedelta | None = timedelta(days=730)
    records: timedelta | None = timedelta(days=365)
    incidents: timedelta | None = timedelta(days=1_095)
    history: timedelta | None = timedelta(days=1_095)
    journal: timedelta | None = None


def is_unchanged(session: Session) -> bool:
    """Whether a session is a round that found all healthy, and neither learned nor reported."""
    return (
        session.tier == 1
        and session.trigger is Trigger.SCHEDULED
        and session.status is Status.COMPLETED
        and session.outcome_state is OutcomeState.HEALTHY
        and not session.output_pending
        and not any((session.learned, session.reinforced, session.events, session.markers_left))
    )


def fold_key(session: Session) -> Hashable:
    """Return what rounds have in common that fold to one row: the day, the task and its outcome."""
    day = session.started_at.date()
    return day, session.engine, session.services, session.dry_run, session.outcome
