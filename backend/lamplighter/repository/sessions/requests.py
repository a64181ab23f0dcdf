"""Queries on requests for sessions: filed by any interface, claimed by the supervisor."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.change import ChangeOp
from lamplighter.domain.sessions.session import RequestState, SessionPlan, SessionRequest, Trigger
from lamplighter.formats import serialize
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.statements import Page, PublishedRows, equal_to, publisher
from lamplighter.repository.store.tables import reader, requests

ENTITY = "request"


async def insert(
    db: Database,
    plan: SessionPlan,
    *,
    engine: str | None = None,
    traceparent: str | None = None,
    now: datetime,
) -> SessionRequest:
    """Queue a request. `traceparent` is the span in which the request was filed."""
    filed = await _rows.store(
        db,
        state=RequestState.QUEUED,
        tier=plan.tier,
        trigger=plan.trigger,
        services=None if plan.services is None else list(plan.services),
        prompt=plan.prompt,
        engine=engine,
        dry_run=plan.dry_run,
        created_at=now,
        traceparent=traceparent,
    )
    return await _publish(db, await _with_position(db, filed), ChangeOp.CREATED, now=now)


async def get(db: Database, request_id: int) -> SessionRequest | None:
    """Return one request, with its position in the queue while it waits."""
    request = await _rows.get(db, request_id)
    return None if request is None else await _with_position(db, request)


async def trace(db: Database, session_id: int) -> str | None:
    """Return the span in which the request of a session was filed."""
    query = sa.select(requests.c.traceparent).where(requests.c.session_id == session_id).limit(1)
    found: str | None = await db.fetch_val(query)
    return found


async def next_queued(db: Database) -> SessionRequest | None:
    """Return the request that has waited longest."""
    return await _rows.first(db, requests.c.state == RequestState.QUEUED)


async def count_queued(db: Database, trigger: Trigger) -> int:
    """Return the number of queued requests with a trigger."""
    return await db.count_rows(
        requests, requests.c.state == RequestState.QUEUED, requests.c.trigger == trigger
    )


async def claim(
    db: Database, request_id: int, session_id: int, *, now: datetime
) -> SessionRequest | None:
    """Assign a queued request to a session; return None if another session was faster."""
    values = {"state": RequestState.RUNNING, "session_id": session_id}
    return await _update(db, request_id, RequestState.QUEUED, values, now=now)


async def finish(db: Database, session_id: int, *, now: datetime) -> None:
    """Mark the request of a session as done."""
    query = sa.select(requests.c.id).where(requests.c.session_id == session_id)
    request_id = await db.fetch_val(query)
    if request_id is not None:
        values = {"state": RequestState.DONE}
        await _update(db, request_id, RequestState.RUNNING, values, now=now)


async def cancel(db: Database, request_id: int, *, now: datetime) -> SessionRequest | None:
    """Cancel a queued request; return None if the request is no longer queued."""
    values = {"state": RequestState.CANCELLED}
    return await _update(db, request_id, RequestState.QUEUED, values, now=now)


async def page(
    db: Database,
    state: RequestState | None,
    *,
    limit: int,
    position: Sequence[Any] | None = None,
) -> Page[SessionRequest]:
    """Return one page of requests, newest first."""
    chosen = equal_to(requests.c, state=state)
    found = await _rows.page(db, *chosen, limit=limit, position=position)
    return Page([await _with_position(db, each) for each in found.items], found.position)


async def _with_position(db: Database, request: SessionRequest) -> SessionRequest:
    if request.state is not RequestState.QUEUED:
        return request
    ahead = [requests.c.state == RequestState.QUEUED, requests.c.id <= request.id]
    return replace(request, position=await db.count_rows(requests, *ahead))


async def _update(
    db: Database,
    request_id: int,
    waiting: RequestState,
    values: dict[str, Any],
    *,
    now: datetime,
) -> SessionRequest | None:
    found = [requests.c.id == request_id, requests.c.state == waiting]
    return await _rows.update_one(db, found, values, now=now)


_publish = publisher(ENTITY, serialize.request)
_rows: Final = PublishedRows(requests, reader(SessionRequest), _publish)
