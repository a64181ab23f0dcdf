"""Queries on pauses of services."""

from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.services.checks.silence import ServicePause
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.dialect import UTCDateTime
from lamplighter.repository.store.statements import Fetch, Rows, Statement, fetch_list, update_rows
from lamplighter.repository.store.tables import reader, service_pauses


async def insert(
    db: Database, service: str, reason: str, *, by: str, until: datetime | None, now: datetime
) -> ServicePause:
    """Store a pause that begins now."""
    return await _rows.store(db, service=service, reason=reason, by=by, began_at=now, until=until)


async def end(db: Database, service: str, *, now: datetime) -> int:
    """End the pauses of a service, and return their number."""
    own = service_pauses.c.service == service
    return await update_rows(db, service_pauses, own, _covering(now), ended_at=now)


async def covering(db: Database, *, since: datetime) -> list[ServicePause]:
    """Return the pauses that had not ended at a moment, the newest first."""
    return await db.fetch(covering_fetch(since))


async def reopen(db: Database, service: str, *, ended_at: datetime) -> None:
    """Resume the pauses of a service that ended at a moment."""
    own = service_pauses.c.service == service
    ended = service_pauses.c.ended_at == ended_at
    await update_rows(db, service_pauses, own, ended, ended_at=None)


async def between(db: Database, service: str, start: datetime, end: datetime) -> list[ServicePause]:
    """Return the pauses of a service that overlap a span of time, oldest first."""
    return await _rows.fetch(db, _BETWEEN(service=service, since=start, end=end))


def covering_fetch(since: datetime) -> Fetch[list[ServicePause]]:
    """Build the fetch of the pauses that had not ended at a moment, the newest first."""
    return fetch_list(_COVERING(since=since), _rows.read)


def _covering(at: Any) -> sa.ColumnElement[bool]:
    ended, until = service_pauses.c.ended_at, service_pauses.c.until
    return sa.or_(ended.is_(None), ended > at) & sa.or_(until.is_(None), until > at)


_STILL_OPEN: Final = sa.select(service_pauses).where(
    _covering(sa.bindparam("since", type_=UTCDateTime()))
)
_COVERING: Final = Statement(_STILL_OPEN.order_by(service_pauses.c.id.desc()))
_BETWEEN: Final = Statement(
    _STILL_OPEN.where(service_pauses.c.service == sa.bindparam("service"))
    .where(service_pauses.c.began_at < sa.bindparam("end", type_=UTCDateTime()))
    .order_by(service_pauses.c.id)
)
_rows: Final = Rows(service_pauses, reader(ServicePause))
