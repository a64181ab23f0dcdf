"""Alert: an alert of an external monitor is one row, and one investigation request."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from lamplighter.domain.configuration import Configuration
from lamplighter.domain.memory.admit import Redact
from lamplighter.domain.services.alert import Alert, AlertIncident, AlertState
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.service import Services
from lamplighter.domain.sessions.session import SessionPlan, SessionRequest, Trigger
from lamplighter.domain.text import shorten
from lamplighter.formats.alerts.incident import find_incident, incident_name
from lamplighter.formats.alerts.payload import MAX_CHARS, hash_name
from lamplighter.formats.alerts.prompt import build_prompt
from lamplighter.repository import Database, writing
from lamplighter.repository.services import alerts, events
from lamplighter.repository.sessions import requests
from lamplighter.usecases.access import instrumentation
from lamplighter.usecases.context import Context
from lamplighter.usecases.services.silence import silences

MAX_QUEUED: Final = 100
"""The most investigations in the queue; an alert that repeats later requests its own then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertContext(Context):
    """What alerts are ingested with; `services` are those that are declared."""

    active: Configuration
    services: Services

    def tier_of(self, alert: Alert) -> int:
        """Return the tier of an alert: a payload may ask for less than ours, never for more."""
        ours = min(self.active.webhook_tier, self.active.max_tier)
        return ours if alert.tier is None else max(1, min(ours, alert.tier))

    def service_of(self, alert: Alert) -> str | None:
        """Return the service that an alert is about, where it is declared."""
        found = (self.services.find(name) for name in alert.names)
        return next((each.name for each in found if each), None)


@dataclass(frozen=True, slots=True)
class AlertResult:
    """What became of an alert: its incident, its request, and whether either is new."""

    incident: AlertIncident
    request: SessionRequest | None
    new: bool


async def ingest_delivery(
    here: AlertContext, source: str, alerts: Sequence[Alert]
) -> list[AlertResult]:
    """Take in what a delivery says: each incident once, in whatever order they come."""
    counted: dict[tuple[object, ...], tuple[Alert, int]] = {}
    for alert in alerts:
        key = (alert.fingerprint, alert.incident, alert.state, alert.at)
        counted[key] = alert, counted.get(key, (alert, 0))[1] + 1
    now = here.now()
    async with writing(here.db):
        return [
            await _ingest_alert(here, source, _masked(alert, here.redact), count, now=now)
            for alert, count in counted.values()
        ]


async def _ingest_alert(
    here: AlertContext, source: str, alert: Alert, count: int, *, now: datetime
) -> AlertResult:
    db = here.db
    held = find_incident(alert, await alerts.list_candidates(db, source, alert), now=now)
    if held is None:
        return await _open(here, source, alert, count, now=now)
    if alert.state is AlertState.RESOLVED and held.state is AlertState.FIRING:
        held = await alerts.resolve(db, held, at=alert.at or now, deliveries=count, now=now)
        await _record_resolved(db, held, now=now)
    elif held.request_id is None and alert.state is held.state is AlertState.FIRING:
        request = await _request_investigation(here, source, alert, now=now)
        number = request.id if request else None
        held = await alerts.record_delivery(db, held, deliveries=count, request_id=number, now=now)
        return AlertResult(held, request, request is not None)
    else:
        held = await alerts.record_delivery(
            db, held, deliveries=count, request_id=held.request_id, now=now
        )
    request = await requests.get(db, held.request_id) if held.request_id else None
    return AlertResult(held, request, False)


async def _open(
    here: AlertContext, source: str, alert: Alert, count: int, *, now: datetime
) -> AlertResult:
    """Store a new incident with its request; a resolved incident withdraws its request."""
    db, request = here.db, await _request_investigation(here, source, alert, now=now)
    over = alert.state is AlertState.RESOLVED
    held = await alerts.insert(
        db,
        source,
        alert,
        incident=incident_name(alert, now=now),
        service=here.service_of(alert),
        deliveries=count,
        request_id=request.id if request else None,
        resolved_at=(alert.at or now) if over else None,
        now=now,
    )
    if over:
        await _record_resolved(db, held, now=now)
        request = request and await requests.get(db, request.id)
    else:
        more = "" if request else f" No investigation was requested: {await _why_none(here, held)}."
        text = f"Alert from {source}: {alert.title}{more}"
        await _event(db, held, Level.WARNING, text, now=now)
    return AlertResult(held, request, True)


async def _why_none(here: AlertContext, held: AlertIncident) -> str:
    if held.service in await silences(here.db, here.services, at=held.created_at):
        return f"{held.service} is paused or in maintenance"
    return f"{MAX_QUEUED} others are waiting"


async def _request_investigation(
    here: AlertContext, source: str, alert: Alert, *, now: datetime
) -> SessionRequest | None:
    """Ask for an investigation; None while too many wait, or the service is silent."""
    if await requests.count_queued(here.db, Trigger.ALERT) >= MAX_QUEUED:
        return None
    service = here.service_of(alert)
    if service in await silences(here.db, here.services, at=now):
        return None
    plan = SessionPlan(
        tier=here.tier_of(alert),
        trigger=Trigger.ALERT,
        services=(service,) if service else None,
        prompt=build_prompt(source, service, alert.severity, alert.title, alert.details),
    )
    return await requests.insert(
        here.db, plan, traceparent=instrumentation.current_traceparent(), now=now
    )


async def _record_resolved(db: Database, incident: AlertIncident, *, now: datetime) -> None:
    """Resolve an incident; its investigation is withdrawn unless it has begun."""
    back = incident.request_id and await requests.cancel(db, incident.request_id, now=now)
    more = f" Request {incident.request_id} was canceled." if back else ""
    text = f"{incident.source} reports it resolved: {incident.title}.{more}"
    await _event(db, incident, Level.INFO, text, now=now)


async def _event(
    db: Database, incident: AlertIncident, level: Level, text: str, *, now: datetime
) -> None:
    await events.insert(db, level, text, service=incident.service, source="alert", now=now)


def _masked(alert: Alert, redact: Redact) -> Alert:
    return replace(
        alert,
        fingerprint=_redacted_key(alert.fingerprint, redact),
        incident=None if alert.incident is None else _redacted_key(alert.incident, redact),
        title=shorten(redact(alert.title), MAX_CHARS),
        details={name: shorten(redact(said), MAX_CHARS) for name, said in alert.details.items()},
    )


def _redacted_key(name: str, redact: Redact) -> str:
    """Return what something is known by: of a name with a secret in it only the hash."""
    return name if redact(name) == name else hash_name(name)
