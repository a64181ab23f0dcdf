"""Queries on notices: written in the transaction of the event that they report."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.services.cooldown import CooldownUse, UseOutcome
from lamplighter.domain.services.event import Event, Level
from lamplighter.domain.services.incident import Incident
from lamplighter.domain.services.notice import (
    APPROVAL_LINK,
    DEDUPLICATE_FOR,
    GATHERED_KINDS,
    INCIDENT_LINK,
    LONGEST_PAUSE,
    MAX_BODY_CHARS,
    MAX_TITLE_CHARS,
    OPEN_STATES,
    Notice,
    NoticeKind,
    NoticePolicy,
    NoticeState,
)
from lamplighter.domain.text import abridge, clean_lines, one_line, shorten
from lamplighter.formats import serialize as plain
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.statements import (
    Page,
    PublishedRows,
    equal_to,
    has_row,
    publisher,
    update_rows,
)
from lamplighter.repository.store.tables import (
    approvals,
    devices,
    events,
    incident_members,
    incident_sessions,
    incidents,
    notices,
    reader,
)

ENTITY: Final = "notice"
BY_INCIDENT: Final = "The incident of the service notifies."
OF_SESSIONS: Final = ("marker", "supervisor", "alert")
"""Sources of events that an incident of their service covers."""


async def policy(db: Database) -> NoticePolicy | None:
    """Return the policy for notifications; None if there is neither an address nor a device."""
    rules = db.telling
    if rules is None or rules.addressed:
        return rules
    subscribed = await db.fetch_val(sa.select(devices.c.id).limit(1)) is not None
    return rules if subscribed else None


async def insert(
    db: Database,
    kind: NoticeKind,
    level: Level,
    title: str,
    body: str = "",
    *,
    now: datetime,
    **more: Any,
) -> Notice:
    """Put a notice into the outbox; `more` are its service, event, link, state and problem."""
    values = {
        "kind": kind,
        "level": level,
        "title": shorten(one_line(title), MAX_TITLE_CHARS),
        "body": shorten(clean_lines(body), MAX_BODY_CHARS),
        "state": NoticeState.WAITING,
        "attempts": 0,
        "next_at": None if db.telling is None else db.telling.due(kind, now=now),
        "created_at": now,
        **more,
    }
    return await _rows.insert(db, values, now=now)


async def insert_for_event(db: Database, event: Event, *, now: datetime) -> None:
    """Put a notice of an event into the outbox, unless the same was sent recently.

    For reports of sessions and monitors about a service with an incident, the incident notifies,
    unless its severity is too low for that.
    """
    if db.telling is None or not db.telling.tells(event.level) or await policy(db) is None:
        return
    covered = event.service and event.source in OF_SESSIONS
    severities = await _open_severities(db, event.service or "") if covered else []
    if any(map(db.telling.tells, severities)):
        return
    text = one_line(event.text)
    title = abridge(text, MAX_TITLE_CHARS)
    after = await _last_recovery(db, event.service) if event.service else 0
    if await _was_sent(db, title, event.service, start=now - DEDUPLICATE_FOR, after=after):
        return
    more = {"service": event.service, "event_id": event.id}
    await insert(
        db, NoticeKind.EVENT, event.level, title, text if text != title else "", now=now, **more
    )


async def insert_recovery(
    db: Database, service: str, uses: Sequence[CooldownUse], *, now: datetime
) -> None:
    """Put a recovery of a service into the outbox, if people were notified of the failure.

    `uses` are the latest actions on the service; an action that succeeded since is the repair. For
    a service with an incident, the end of the incident notifies.
    """
    if await policy(db) is None or await _open_severities(db, service):
        return
    alarms = (
        sa.select(notices)
        .where(notices.c.kind == NoticeKind.EVENT)
        .where(notices.c.service == service)
        .where(notices.c.level != Level.INFO)
        .where(notices.c.state != NoticeState.SUPPRESSED)
        .where(notices.c.id > await _last_recovery(db, service))
        .order_by(notices.c.id)
        .limit(1)
    )
    row = await db.fetch_one(alarms)
    if row is None:
        return
    alarmed_at = _rows.read(row).created_at
    minutes = max(1, round((now - alarmed_at).total_seconds() / 60))
    repair = next(
        (
            f"; repaired by {use.name or use.action}"
            for use in reversed(uses)
            if use.outcome is UseOutcome.SUCCESS and use.created_at >= alarmed_at
        ),
        "",
    )
    title = f"{service} is healthy again after {minutes} min{repair}"
    await insert(db, NoticeKind.EVENT, Level.INFO, title, service=service, now=now)


async def was_alarmed(
    db: Database, services: Sequence[str], by: Sequence[int], *, start: datetime
) -> bool:
    """Whether people were notified of a report about some services by a session or a monitor.

    The notice is from `start` or later, or one of the sessions `by` reported it.
    """
    return await has_row(
        db, *_alarms(services, by, start), notices.c.state != NoticeState.SUPPRESSED
    )


async def leave_to_incident(
    db: Database, services: Sequence[str], by: Sequence[int], *, start: datetime, now: datetime
) -> None:
    """Suppress waiting notices that match `was_alarmed`, because an incident notifies instead."""
    waiting = notices.c.state == NoticeState.WAITING
    values = {"state": NoticeState.SUPPRESSED, "next_at": None, "problem": BY_INCIDENT}
    await _rows.update(db, [waiting, *_alarms(services, by, start)], values, now=now)


def _alarms(
    services: Sequence[str], by: Sequence[int] | sa.Select[Any], start: datetime
) -> Sequence[sa.ColumnElement[bool]]:
    reported = sa.exists().where(
        events.c.id == notices.c.event_id,
        events.c.source.in_(OF_SESSIONS),
        (notices.c.created_at >= start) | events.c.session_id.in_(by),
    )
    return (
        notices.c.kind == NoticeKind.EVENT,
        notices.c.service.in_(list(services)),
        notices.c.level != Level.INFO,
        reported,
    )


async def get(db: Database, notice_id: int) -> Notice | None:
    """Return one notice."""
    return await _rows.get(db, notice_id)


async def is_due(db: Database, *, now: datetime, gap: timedelta) -> bool:
    """Whether a message is due now; after the clock was set back, all are due at once."""
    waiting = sa.select(notices.c.kind).where(notices.c.state == NoticeState.WAITING)
    set_back = sa.and_(notices.c.attempts == 0, notices.c.created_at > now)
    kinds = await db.fetch_all(waiting.where(sa.or_(_is_timed(now), set_back)).distinct())
    if any(row["kind"] not in GATHERED_KINDS for row in kinds):
        return True
    return bool(kinds) and not await _sent_alone(db, start=now - gap, end=now)


def _is_timed(now: datetime) -> sa.ColumnElement[bool]:
    """Whether the time of a notice has come; a clock that was set back is not waited for."""
    return sa.or_(notices.c.next_at <= now, notices.c.next_at > now + LONGEST_PAUSE)


async def _sent_alone(db: Database, *, start: datetime, end: datetime) -> bool:
    """Whether a message that contained only events and incidents was sent in a period."""
    recent = sa.select(notices.c.sent_at).where(notices.c.sent_at > start, notices.c.sent_at <= end)
    urgent = recent.where(notices.c.kind.not_in(GATHERED_KINDS))
    alone = recent.where(notices.c.kind.in_(GATHERED_KINDS), notices.c.sent_at.not_in(urgent))
    return await db.fetch_val(alone.limit(1)) is not None


async def has_waiting(db: Database) -> bool:
    """Whether any notice is still to be sent, now or later."""
    return await has_row(db, notices.c.state == NoticeState.WAITING)


async def claim(db: Database, *, limit: int, now: datetime) -> list[Notice]:
    """Claim the waiting notices to send: all new notices, and those whose retry is due."""
    chosen = (
        sa.select(notices.c.id)
        .where(notices.c.state == NoticeState.WAITING)
        .where(sa.or_(notices.c.attempts == 0, _is_timed(now)))
        .order_by(notices.c.id)
        .limit(limit)
    )
    values = {"state": NoticeState.SENDING, "attempts": notices.c.attempts + 1}
    return await _rows.update(db, [notices.c.id.in_(chosen)], values, now=now)


async def release_claimed(db: Database, *, now: datetime) -> list[Notice]:
    """Return notices to the queue that were being sent when their sender died."""
    values = {"state": NoticeState.WAITING, "next_at": now}
    return await _rows.update(db, [notices.c.state == NoticeState.SENDING], values, now=now)


async def settle(
    db: Database, ids: Sequence[int], state: NoticeState, *, now: datetime, **values: Any
) -> list[Notice]:
    """Record the outcome of notices that were being sent."""
    conditions = [notices.c.id.in_(ids), notices.c.state.in_(OPEN_STATES)]
    return await _rows.update(db, conditions, {"state": state, **values}, now=now)


async def set_reached(db: Database, ids: Sequence[int], marks: Collection[str]) -> None:
    """Store which targets accepted some notices; nobody follows that, so it is no change."""
    await update_rows(db, notices, notices.c.id.in_(ids), reached=sorted(marks))


async def of_incident(
    db: Database, incident: Incident, *, before: int | None = None
) -> list[Notice]:
    """Return the notices of an incident and of those that are part of it, also suppressed ones.

    They include the requests for approval by its sessions, and the reports of `was_alarmed`.
    """
    ids = await _with_merged(db, incident.id)
    members = incident_sessions.c.incident_id.in_(ids)
    by = sa.select(incident_sessions.c.session_id).where(members)
    asked = await db.fetch_all(sa.select(approvals.c.id).where(approvals.c.session_id.in_(by)))
    links = [f"{INCIDENT_LINK}{each}" for each in ids]
    links += [f"{APPROVAL_LINK}{row['id']}" for row in asked]
    alarms = sa.and_(*_alarms(incident.services, by, incident.started_at))
    query = sa.select(notices).where(notices.c.link.in_(links) | alarms)
    if before is not None:
        query = query.where(notices.c.id < before)
    return await _rows.fetch(db, query)


async def _with_merged(db: Database, incident_id: int) -> set[int]:
    found, new = set[int](), {incident_id}
    while new:
        found |= new
        query = sa.select(incidents.c.id).where(incidents.c.merged_into.in_(new))
        new = {row["id"] for row in await db.fetch_all(query)} - found
    return found


async def count_undelivered(db: Database, *, since: datetime) -> tuple[int, int]:
    """Return the number of notices that wait for another attempt, and of those that failed."""
    tried = notices.c.state == NoticeState.WAITING, notices.c.attempts > 0
    failed = notices.c.state == NoticeState.FAILED, notices.c.created_at > since
    return await db.count_rows(notices, *tried), await db.count_rows(notices, *failed)


async def page(
    db: Database,
    state: NoticeState | None,
    *,
    limit: int,
    position: Sequence[Any] | None = None,
) -> Page[Notice]:
    """Return one page of notices, newest first."""
    return await _rows.page(db, *equal_to(notices.c, state=state), limit=limit, position=position)


async def _last_recovery(db: Database, service: str) -> int:
    """Return the ID of the last recovery notice of a service, or 0."""
    query = (
        sa.select(sa.func.max(notices.c.id))
        .where(notices.c.kind.in_(GATHERED_KINDS))
        .where(notices.c.service == service)
        .where(notices.c.event_id.is_(None))
        .where(notices.c.level == Level.INFO)
    )
    return int(await db.fetch_val(query) or 0)


async def _open_severities(db: Database, service: str) -> list[Level]:
    """Return the severities of the open incidents of a service."""
    query = (
        sa.select(incidents.c.severity)
        .join(incident_members, incident_members.c.incident_id == incidents.c.id)
        .where(incidents.c.resolved_at.is_(None))
        .where(sa.func.lower(incident_members.c.service) == service.lower())
    )
    return [Level(row["severity"]) for row in await db.fetch_all(query)]


async def _was_sent(
    db: Database, title: str, service: str | None, *, start: datetime, after: int
) -> bool:
    return await has_row(
        db,
        notices.c.title == title,
        notices.c.service.is_not_distinct_from(service),
        notices.c.created_at > start,
        notices.c.id > after,
    )


_rows: Final = PublishedRows(notices, reader(Notice), publisher(ENTITY, plain.notice))
