"""Escalations of sessions to the next tier or to a person, and their outcomes."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.services.service import is_same_service, normalize_service_name
from lamplighter.domain.sessions.handoff import Escalation, EscalationState
from lamplighter.domain.sessions.session import Status
from lamplighter.formats import serialize
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.statements import (
    Fetch,
    PublishedRows,
    Statement,
    one_of,
    publisher,
)
from lamplighter.repository.store.tables import escalations, reader, sessions

ENTITY: Final = "escalation"
HANDLED: Final = "settled by an operator"


async def insert(
    db: Database,
    session_id: int,
    tier: int,
    service: str,
    reason: str,
    *,
    state: EscalationState,
    why: str = "",
    now: datetime,
) -> Escalation:
    """Record the escalation of a service by a session, once per session and service."""
    own = escalations.c.session_id == session_id
    existing = await _rows.first(db, own, escalations.c.service == service)
    if existing is not None:
        return existing
    values = {"session_id": session_id, "tier": tier, "service": service, "reason": reason}
    more = {"state": state, "why": why, "created_at": now}
    return await _rows.insert(db, {**values, **more}, now=now)


async def of_sessions(db: Database, session_ids: Sequence[int]) -> list[Escalation]:
    """Return the escalations of some sessions, oldest first."""
    return await _rows.oldest(db, escalations.c.session_id.in_(list(session_ids)))


async def has_escalated(db: Database, session_id: int, service: str) -> bool:
    """Whether a session escalated a service."""
    own = await of_sessions(db, [session_id])
    return any(is_same_service(each.service, service) for each in own)


async def needs_person(db: Database, session_id: int, service: str) -> bool:
    """Whether a session escalated a service to a person, by itself or through the gate."""
    people = [
        each for each in await of_sessions(db, [session_id]) if each.state is EscalationState.PERSON
    ]
    return any(is_same_service(each.service, service) for each in people)


async def handled_at(db: Database, service: str) -> datetime | None:
    """Return when a person last marked a service as handled."""
    every = await _rows.oldest(db, escalations.c.why == HANDLED)
    held = [each for each in every if is_same_service(each.service, service)]
    return max((each.closed_at for each in held if each.closed_at), default=None)


async def closed_after(db: Database, start: datetime) -> list[Escalation]:
    """Return the escalations to a person that were closed since a time, oldest first."""
    return await _rows.oldest(db, escalations.c.closed_at >= start)


_UNFINISHED: Final = Statement(
    sa.select(escalations)
    .where(one_of(escalations.c.state, (EscalationState.OPEN, EscalationState.ACCEPTED)))
    .order_by(escalations.c.id)
)


async def unfinished(db: Database) -> list[Escalation]:
    """Return the open escalations, oldest first."""
    return await _rows.fetch(db, _UNFINISHED())


_IN_PROGRESS: Final = Statement(
    sa.select(escalations)
    .join(sessions, sessions.c.id == escalations.c.child_id)
    .where(escalations.c.state == EscalationState.TAKEN)
    .where(sessions.c.status == Status.RUNNING)
    .order_by(escalations.c.id)
)


async def in_progress(db: Database) -> list[Escalation]:
    """Return the escalations that a running session has accepted, oldest first."""
    return await _rows.fetch(db, _IN_PROGRESS())


_FOR_PEOPLE: Final = Statement(
    sa.select(escalations)
    .where(escalations.c.state == EscalationState.PERSON)
    .order_by(escalations.c.id)
)


async def open_for_people(db: Database) -> list[Escalation]:
    """Return the open escalations to a person, the newest of each service, oldest first."""
    return await db.fetch(people_fetch())


def people_fetch() -> Fetch[list[Escalation]]:
    """Build the fetch of the open escalations to a person, the newest of each service."""

    def read(found: Sequence[Sequence[Any]]) -> list[Escalation]:
        every = [_rows.read(row) for row in found[0]]
        newest = {normalize_service_name(each.service): each for each in every}
        return sorted(newest.values(), key=lambda each: each.id)

    return Fetch([_FOR_PEOPLE()], read)


async def change_state(
    db: Database,
    session_id: int,
    before: EscalationState,
    after: EscalationState,
    *,
    why: str = "",
    child_id: int | None = None,
    now: datetime,
) -> list[Escalation]:
    """Change the state of a session's escalations."""
    conditions = [escalations.c.session_id == session_id, escalations.c.state == before]
    values = {"state": after, "why": why, "child_id": child_id}
    return await _rows.update(db, conditions, values, now=now)


async def get(db: Database, number: int) -> Escalation | None:
    """Return one escalation."""
    return await _rows.get(db, number)


async def close(
    db: Database, service: str, *, why: str, but: int | None = None, now: datetime
) -> list[Escalation]:
    """Close escalations to a person for a service, except those of the session `but`."""
    waiting = escalations.c.state == EscalationState.PERSON
    numbers = [
        each.id
        for each in await _rows.oldest(db, waiting)
        if is_same_service(each.service, service) and each.session_id != but
    ]
    if not numbers:
        return []
    values = {"state": EscalationState.CLOSED, "why": why, "closed_at": now}
    return await _rows.update(db, [escalations.c.id.in_(numbers), waiting], values, now=now)


async def reopen(
    db: Database, *, closed_at: datetime, why: Mapping[str, str], now: datetime
) -> list[Escalation]:
    """Reopen escalations that were marked as handled at a moment; `why` has reasons by ID."""
    handled = [escalations.c.why == HANDLED, escalations.c.closed_at == closed_at]
    values = {"state": EscalationState.PERSON, "closed_at": None}
    reopened: list[Escalation] = []
    for each in await _rows.oldest(db, *handled):
        one, own = [escalations.c.id == each.id], why.get(str(each.id), "")
        reopened += await _rows.update(db, one, {**values, "why": own}, now=now)
    return reopened


async def why_for_people(db: Database) -> dict[str, str]:
    """Return the reason of each open escalation to a person, by ID as text."""
    return {str(each.id): each.why for each in await _rows.fetch(db, _FOR_PEOPLE())}


_rows: Final = PublishedRows(
    escalations, reader(Escalation), publisher(ENTITY, serialize.escalation)
)
