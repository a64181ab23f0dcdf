"""Alerts: an alert of an external monitor is one row, and one investigation request."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from lamplighter.domain.configuration import Configuration
from lamplighter.domain.learning.advice import configuration_key
from lamplighter.domain.learning.changes import change_of_alert
from lamplighter.domain.memory.admit import Redact
from lamplighter.domain.services.alert import (
    REPORTED,
    UNREQUESTED,
    Alert,
    AlertIncident,
    AlertState,
    level_of,
)
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.incident import EntryKind, Incident, IncidentSource, is_member
from lamplighter.domain.services.service import Services
from lamplighter.domain.sessions.session import SessionPlan, SessionRequest, Trigger
from lamplighter.domain.text import shorten
from lamplighter.formats.alerts.incident import find_incident, incident_name
from lamplighter.formats.alerts.payload import MAX_CHARS, hash_name
from lamplighter.formats.alerts.prompt import build_prompt
from lamplighter.repository import Database, writing
from lamplighter.repository.services import alerts, events, incidents
from lamplighter.repository.sessions import requests
from lamplighter.usecases import instrumentation
from lamplighter.usecases.context import Context
from lamplighter.usecases.services.incidents import steps as incident_steps
from lamplighter.usecases.services.silence import silences

SOURCE: Final = "alert"
MAX_QUEUED: Final = 100
"""The most queued investigations; an alert beyond it requests its own when it repeats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertContext(Context):
    """The context of ingesting alerts; `services` are the declared services."""

    active: Configuration
    services: Services

    def tier_of(self, alert: Alert) -> int:
        """Return the tier of an alert: a payload may lower the configured tier, not raise it."""
        ours = min(self.active.webhook_tier, self.active.max_tier)
        return ours if alert.tier is None else max(1, min(ours, alert.tier))

    def service_of(self, alert: Alert) -> str | None:
        """Return the service of an alert, if declared."""
        found = (self.services.find(name) for name in alert.names)
        return next((each.name for each in found if each), None)


@dataclass(frozen=True, slots=True)
class AlertResult:
    """The outcome of an alert: its row, its request, and whether the alert is new.

    `incident_id` is the open incident of its service.
    """

    incident: AlertIncident
    request: SessionRequest | None
    new: bool
    incident_id: int | None = None


async def ingest_delivery(
    here: AlertContext, source: str, alerts: Sequence[Alert]
) -> list[AlertResult]:
    """Ingest a delivery: each incident once, in whatever order its alerts arrive."""
    counted: dict[tuple[object, ...], tuple[Alert, int]] = {}
    for alert in alerts:
        key = (alert.fingerprint, alert.incident, alert.state, alert.at)
        counted[key] = alert, counted.get(key, (alert, 0))[1] + 1
    now = here.now()
    async with writing(here.db):
        results = []
        for alert, count in counted.values():
            found = await _ingest_alert(here, source, _masked(alert, here.redact), count, now=now)
            live = await _live_incident(here, alert)
            results.append(replace(found, incident_id=live.id if live else None))
        return results


async def _ingest_alert(
    here: AlertContext, source: str, alert: Alert, count: int, *, now: datetime
) -> AlertResult:
    db = here.db
    stored = find_incident(alert, await alerts.list_candidates(db, source, alert), now=now)
    if stored is None:
        return await _open(here, source, alert, count, now=now)
    request: SessionRequest | None = None
    changed: dict[str, Any] = {}
    if alert.state is AlertState.RESOLVED and stored.state is AlertState.FIRING:
        changed = {"state": AlertState.RESOLVED, "resolved_at": alert.at or now}
    elif stored.request_id is None and alert.state is stored.state is AlertState.FIRING:
        covered = await _live_incident(here, alert)
        request = await _investigation(here, source, alert, covered, now=now)
        changed = {"request_id": request.id if request else None}
    stored = await alerts.record_delivery(db, stored, deliveries=count, now=now, **changed)
    if "resolved_at" in changed:
        await _record_resolved(db, stored, now=now)
    if request is None and stored.request_id:
        return AlertResult(stored, await requests.get(db, stored.request_id), False)
    return AlertResult(stored, request, request is not None)


async def _open(
    here: AlertContext, source: str, alert: Alert, count: int, *, now: datetime
) -> AlertResult:
    """Store a new alert with its request, or within the incident that covers its service.

    A resolved alert withdraws its request.
    """
    db, over = here.db, alert.state is AlertState.RESOLVED
    covered = await _live_incident(here, alert)
    request = await _investigation(here, source, alert, covered, now=now)
    stored = await alerts.insert(
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
        await _record_resolved(db, stored, now=now)
        request = request and await requests.get(db, request.id)
    else:
        silent = stored.service in await silences(db, here.services, at=now)
        if not silent:
            await _join_incident(here, stored, covered, request, now=now)
        why = (
            f"{stored.service} is paused or in maintenance"
            if silent
            else f"{MAX_QUEUED} others are waiting"
        )
        more = "" if request else f" {UNREQUESTED}: {why}."
        if covered and not silent:
            more = f" It is part of incident {covered.id}."
        end = "." if more and alert.title[-1:].isalnum() else ""
        text = f"{REPORTED}{source}: {alert.title}{end}{more}"
        change = change_of_alert(alert.title, alert.severity) if stored.service else None
        await events.insert(
            db,
            level_of(alert.severity),
            text,
            service=stored.service,
            source=SOURCE,
            change=change or "",
            now=now,
        )
    return AlertResult(stored, request, True)


async def _investigation(
    here: AlertContext, source: str, alert: Alert, covered: Incident | None, *, now: datetime
) -> SessionRequest | None:
    """Return the request of the incident that covers an alert, else a new one.

    None if the queue is full, or the service is silenced.
    """
    if covered is not None:
        return await requests.get(here.db, covered.request_id) if covered.request_id else None
    service = here.service_of(alert)
    if await requests.count_queued(here.db, Trigger.ALERT) >= MAX_QUEUED:
        return None
    if service in await silences(here.db, here.services, at=now):
        return None
    plan = SessionPlan(
        tier=here.tier_of(alert),
        trigger=Trigger.ALERT,
        services=(service,) if service else None,
        prompt=build_prompt(source, service, alert.severity, alert.title, alert.details),
    )
    parent = instrumentation.current_traceparent()
    return await requests.insert(here.db, plan, traceparent=parent, now=now)


async def _live_incident(here: AlertContext, alert: Alert) -> Incident | None:
    """Return the open incident of the service of an alert."""
    service = here.service_of(alert)
    if service is None:
        return None
    live = await incidents.live(here.db)
    return next((each for each in live if is_member(each, service)), None)


async def _join_incident(
    here: AlertContext,
    stored: AlertIncident,
    covered: Incident | None,
    request: SessionRequest | None,
    *,
    now: datetime,
) -> None:
    """Add an alert to the incident of its service, or to a new one."""
    if stored.service is None:
        return
    db = here.db
    level, text = level_of(stored.severity), f"{stored.source}: {stored.title}"
    if covered is None:
        covered = await incident_steps.open_incident(
            db,
            IncidentSource.ALERT,
            stored.service,
            {stored.service: text},
            severity=level,
            title=f"{stored.service}: {stored.title}",
            started_at=stored.created_at,
            request_id=request.id if request else None,
            requested_at=now if request else None,
            configured=configuration_key(here.services.find(stored.service)),
            now=now,
        )
        await incidents.update_members(db, covered.id, [stored.service], investigated=True)
    elif level.rank > covered.severity.rank:
        await incidents.update(db, covered.id, severity=level, now=now)
    await incidents.add_entry(
        db, covered.id, EntryKind.ALERT, text, service=stored.service, now=now
    )


async def _record_resolved(db: Database, incident: AlertIncident, *, now: datetime) -> None:
    """Resolve an alert; cancel its investigation unless it has started or is needed by others."""
    number = incident.request_id
    needed = number and (
        await alerts.is_firing(db, number) or await incidents.is_check_request(db, number)
    )
    back = number and not needed and await requests.cancel(db, number, now=now)
    more = f" Request {incident.request_id} was canceled." if back else ""
    text = f"{incident.source} reports it resolved: {incident.title}.{more}"
    await events.insert(db, Level.INFO, text, service=incident.service, source=SOURCE, now=now)


def _masked(alert: Alert, redact: Redact) -> Alert:
    """Return an alert without secrets; a key that contains one is hashed."""

    def key(name: str) -> str:
        return name if redact(name) == name else hash_name(name)

    return replace(
        alert,
        fingerprint=key(alert.fingerprint),
        incident=None if alert.incident is None else key(alert.incident),
        title=shorten(redact(alert.title), MAX_CHARS),
        details={name: shorten(redact(said), MAX_CHARS) for name, said in alert.details.items()},
    )
