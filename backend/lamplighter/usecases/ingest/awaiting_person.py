"""Awaited: a service that waits for a person already is not escalated again, by any engine."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from lamplighter.domain.services.service import Service, normalize_service_name
from lamplighter.domain.sessions.handoff import is_new_failure
from lamplighter.domain.sessions.session import Session
from lamplighter.domain.text import format_time
from lamplighter.repository import Database
from lamplighter.repository.services import checks
from lamplighter.repository.sessions import escalations
from lamplighter.usecases.ingest.context import IngestContext
from lamplighter.usecases.sessions import chain, parking

RECENT: Final = 10
"""So many check results before this session's tell whether a failure is new."""


@dataclass(frozen=True, slots=True)
class PendingRequest:
    """The request that a person has not acted on: since when, and in words."""

    requested_at: datetime
    text: str


async def find_pending_request(
    ingest: IngestContext, service: str, *, now: datetime
) -> PendingRequest | None:
    """Return the request for which a service is not escalated now, or for one that it depends on.

    What was escalated to a session continues: the session before it was asked this. A check that
    passed when the person was asked, and since, is another failure.
    """
    db, session = ingest.db, ingest.session
    own = ingest.services.find(service) or Service(name=service)
    handed = session.parent_id is not None and normalize_service_name(service) in map(
        normalize_service_name, session.services or ()
    )
    around = [own] if handed else ingest.services.with_needs([own])
    if found := await _parked(db, session, around, now=now):
        return found
    if handed or await escalations.needs_person(db, session.id, service):
        return None
    waiting = await chain.services_waiting(db, around, ingest.active, now=now)
    for each in around:
        if each.name in waiting:
            since = waiting[each.name].waiting_since
            if await _has_new_failure(db, session, around[0], since):
                return None
            return PendingRequest(
                since, f"a person was notified{_for(each, around)} at {format_time(since, now)}"
            )
    return None


async def _parked(
    db: Database, session: Session, around: Sequence[Service], *, now: datetime
) -> PendingRequest | None:
    parked = await parking.services_in_use(db, but=session.id)
    for each in around:
        if since := parked.get(normalize_service_name(each.name)):
            what = f"approval{_for(each, around)}"
            words = f"another session is waiting for {what} since {format_time(since, now)}"
            return PendingRequest(since, words)
    return None


def _for(service: Service, around: Sequence[Service]) -> str:
    return "" if service is around[0] else f" for {service.name}"


async def _has_new_failure(
    db: Database, session: Session, service: Service, requested_at: datetime
) -> bool:
    """Whether a session saw a check of a service fail that passed since a person was asked."""
    results = await checks.of_session(db, session.id, [service.name])
    newest = {result.name: result for result in results}
    for name in (name for name, result in newest.items() if not result.ok):
        limit = RECENT + len(results)
        past = await checks.recent(db, service.name, name, limit=limit)
        before = [result for result in past if result.session_id != session.id][:RECENT]
        if is_new_failure(before, requested_at):
            return True
    return False
