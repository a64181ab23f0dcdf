"""How long records are stored, and which rounds are folded into one row."""

from collections.abc import Hashable
from dataclasses import dataclass
from datetime import timedelta

from lamplighter.domain.sessions.session import OutcomeState, Session, Status, Trigger


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long each kind of row is stored; None stores the row until a person removes it.

    `rounds` is the age at which unchanged healthy rounds are folded into one row a day. `sessions`
    applies to the prompts, output files and results of sessions. `records` applies to sent
    notifications, used login codes and ended logins. `history` applies to the sessions themselves,
    with their requests, escalations, approvals and actions: those that a memory, an event or an
    incident references stay. `journal` applies to acts of people, which can then no longer be
    undone.
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
    """Whether a session is a round with all services healthy, without memories or events."""
    return (
        session.tier == 1
        and session.trigger is Trigger.SCHEDULED
        and session.status is Status.COMPLETED
        and session.outcome_state is OutcomeState.HEALTHY
        and not session.output_pending
        and not any((session.learned, session.reinforced, session.events, session.markers_left))
    )


def fold_key(session: Session) -> Hashable:
    """Return the key by which rounds are folded into one row: the day, the task and its outcome."""
    day = session.started_at.date()
    return day, session.engine, session.services, session.dry_run, session.outcome
