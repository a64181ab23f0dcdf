"""Queries on alerts: one row per incident, however often it was delivered."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.services.alert import Alert, AlertIncident, AlertState
from lamplighter.domain.services.service import normalize_service_name
from lamplighter.formats import serialize as plain
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.statements import (
    Page,
    PublishedRows,
    Statement,
    equal_to,
    has_row,
    publisher,
)
from lamplighter.repository.store.tables import alerts, reader

ENTITY: Final = "alert"
MAX_CANDIDATES: Final = 200
_SAME: Final = (
    sa.select(alerts)
    .where(alerts.c.source == sa.bindparam("source"))
    .where(alerts.c.fingerprint == sa.bindparam("fingerprint"))
)
_BY_FINGERPRINT: Final = Statement(_SAME.order_by(alerts.c.id.desc()).limit(MAX_CANDIDATES))
_BY_INCIDENT: Final = Statement(_SAME.where(alerts.c.incident == sa.bindparam("incident")))


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertFilter:
    """Filter for alerts; None matches all."""

    state: AlertState | None = None
    source: str | None = None
    service: str | None = None


async def insert(
    db: Database,
    source: str,
    alert: Alert,
    *,
    incident: str,
    service: str | None,
    deliveries: int,
    now: datetime,
    **more: Any,
) -> AlertIncident:
    """Store a new incident; `more` are its request and its end."""
    values = {
        "source": source,
        "fingerprint": alert.fingerprint,
        "incident": incident,
        "state": alert.state,
        "service": service,
        "severity": alert.severity,
        "title": alert.title,
        "details": dict(alert.details),
        "deliveries": deliveries,
        "created_at": now,
        "last_at": now,
        **more,
    }
    return await _rows.insert(db, values, now=now)


async def list_candidates(db: Database, source: str, alert: Alert) -> list[AlertIncident]:
    """Return the incidents that an alert may belong to, newest first."""
    key = {"source": source, "fingerprint": alert.fingerprint}
    query = (
        _BY_FINGERPRINT(**key)
        if alert.incident is None
        else _BY_INCIDENT(**key, incident=alert.incident)
    )
    return await _rows.fetch(db, query)


async def record_delivery(
    db: Database, incident: AlertIncident, *, deliveries: int, now: datetime, **more: Any
) -> AlertIncident:
    """Count a repeated alert of an incident; `more` are its investigation or its end."""
    counted = {"deliveries": alerts.c.deliveries + deliveries, "last_at": now}
    return await _rows.change(db, incident.id, {**counted, **more}, now=now)


async def firing_services(db: Database) -> set[str]:
    """Return the services that have a firing alert, folded."""
    query = sa.select(alerts.c.service).where(alerts.c.state == AlertState.FIRING).distinct()
    found = await db.fetch_all(query.where(alerts.c.service.is_not(None)))
    return {normalize_service_name(row["service"]) for row in found}


async def is_firing(db: Database, request_id: int) -> bool:
    """Whether a request investigates a firing alert."""
    return await has_row(db, alerts.c.request_id == request_id, alerts.c.state == AlertState.FIRING)


async def page(
    db: Database, selection: AlertFilter, *, limit: int, position: Sequence[Any] | None = None
) -> Page[AlertIncident]:
    """Return one page of alerts, newest first."""
    return await _rows.page(
        db, *equal_to(alerts.c, **asdict(selection)), limit=limit, position=position
    )


_rows: Final = PublishedRows(alerts, reader(AlertIncident), publisher(ENTITY, plain.alert))
