"""The outcome of a session: decided at its end, and again after changes of its records."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from lamplighter.domain.actions.outcome import SessionOutcome, SessionRecords, session_outcome
from lamplighter.domain.services.event import Level
from lamplighter.domain.sessions.session import Status
from lamplighter.repository import Database
from lamplighter.repository.services import checks, cooldowns, events
from lamplighter.repository.sessions import approvals, escalations, sessions

MOST_EVENTS: Final = 200


async def outcome_of(db: Database, session_id: int, status: Status) -> SessionOutcome:
    """Return the outcome of a session that ends with a status, from its records."""
    critical = events.EventSelection(levels=(Level.CRITICAL,), session=session_id)
    reported = await events.page(db, critical, limit=MOST_EVENTS)
    return session_outcome(
        SessionRecords(
            status=status,
            results=await checks.of_session(db, session_id),
            uses=await cooldowns.of_sessions(db, [session_id]),
            escalations=await escalations.of_sessions(db, [session_id]),
            approvals=await approvals.of_session(db, session_id),
            events=reported.items[::-1],
        )
    )


async def refresh(db: Database, session_ids: Iterable[int], *, now: datetime) -> None:
    """Decide the outcome of ended sessions again after changes of their records."""
    for number in sorted(set(session_ids)):
        session = await sessions.get(db, number)
        if session is not None and not session.running:
            found = await outcome_of(db, number, session.status)
            await sessions.set_outcome(db, number, found.text, found.state, now=now)
