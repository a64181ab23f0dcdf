"""Queries on events, one function each."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa

from lamplighter.domain.change import ChangeOp
from lamplighter.domain.services.density import DAY, EventCount
from lamplighter.domain.services.event import Event, Level
from lamplighter.domain.services.service import GENERAL
from lamplighter.formats import serialize
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.dialect import text_contains
from lamplighter.repository.store.statements import Key, Page, Rows, after, has_row, publisher
from lamplighter.repository.store.tables import event_groups, events, reader

if TYPE_CHECKING:
    from lamplighter.domain.sessions.session import Session

ENTITY: Final = "event"


@dataclass(frozen=True, slots=True, kw_only=True)
class EventSelection:
    """Filter for events; empty or None matches all.

    `since` is in the range and `until` is not; `same` matches the events with the same level,
    service and text as the event with this ID.
    """

    levels: tuple[Level, ...] = ()
    service: str | None = None
    session: int | None = None
    q: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    same: int | None = None


async def insert(
    db: Database,
    level: Level,
    text: str,
    *,
    service: str | None = None,
    session_id: int | None = None,
    tier: int = 0,
    source: str = "supervisor",
    now: datetime,
    **more: str,
) -> Event:
    """Record an event, and queue a notice if the settings say so; `more` may be its change."""
    event = await _rows.store(
        db,
        level=level,
        service=service,
        text=text,
        session_id=session_id,
        tier=tier,
        source=source,
        created_at=now,
        **{"change": "", **more},
    )
    await _publish(db, event, ChangeOp.CREATED, now=now)
    from lamplighter.repository.services import notices  # not needed by read commands

    await notices.insert_for_event(db, event, now=now)
    return event


async def insert_for(
    db: Database, session: "Session", level: Level, text: str, *, now: datetime, **more: Any
) -> Event:
    """Record an event of a session; `more` are a service and another source."""
    return await insert(db, level, text, session_id=session.id, tier=session.tier, now=now, **more)


async def recorded_after(db: Database, text: str, service: str | None, at: datetime | None) -> bool:
    """Whether an event with this text and service was recorded at a time or later."""
    same = events.c.text == text, events.c.service.is_not_distinct_from(service)
    later = [] if at is None else [events.c.created_at >= at]
    return await has_row(db, *same, *later)


async def last_change(
    db: Database,
    services: Sequence[str],
    *,
    kinds: Sequence[str] = (),
    start: datetime | None = None,
    until: datetime,
) -> Event | None:
    """Return the last event before `until` that reports a change of any of some services."""
    query = (
        sa.select(events)
        .where(events.c.change != "")
        .where(events.c.service.in_(list(services)))
        .where(events.c.created_at < until)
        .order_by(events.c.created_at.desc(), events.c.id.desc())
        .limit(1)
    )
    if kinds:
        query = query.where(events.c.change.in_(list(kinds)))
    if start is not None:
        query = query.where(events.c.created_at >= start)
    return await db.fetch_first(query, from_row)


async def count_changes(
    db: Database, service: str, change: str, *, start: datetime, until: datetime
) -> int:
    """Return the number of events that report a kind of change of a service in a time span."""
    return await db.count_rows(
        events,
        events.c.change != "",
        events.c.change == change,
        events.c.service == service,
        events.c.created_at >= start,
        events.c.created_at < until,
    )


async def get(db: Database, event_id: int) -> Event | None:
    """Return one event."""
    return await _rows.get(db, event_id)


async def page(
    db: Database, selection: EventSelection, *, limit: int, position: Sequence[Any] | None = None
) -> Page[Event]:
    """Return one page of events, newest first."""
    return await _rows.page(db, *conditions(selection), limit=limit, position=position)


def conditions(selection: EventSelection, columns: Any = events.c) -> list[sa.ColumnElement[bool]]:
    """Return the conditions of a filter, for events or for groups with these columns."""
    clauses: list[sa.ColumnElement[bool]] = []
    if selection.levels:
        clauses.append(columns.level.in_(selection.levels))
    if selection.service is not None:
        service = None if selection.service == GENERAL else selection.service
        clauses.append(columns.service.is_not_distinct_from(service))
    if selection.session is not None:
        clauses.append(events.c.session_id == selection.session)
    if selection.q:
        clauses.append(text_contains(columns.text, selection.q))
    if selection.since is not None:
        clauses.append(events.c.created_at >= selection.since)
    if selection.until is not None:
        clauses.append(events.c.created_at < selection.until)
    if selection.same is not None:
        clauses += [
            column.is_not_distinct_from(_of(column, selection.same))
            for column in (columns.level, columns.service, columns.text)
        ]
    return clauses


def _of(column: sa.Column[Any], event_id: int) -> sa.ScalarSelect[Any]:
    other = events.alias()
    return sa.select(other.c[column.name]).where(other.c.id == event_id).scalar_subquery()


_publish = publisher(ENTITY, serialize.event)
from_row: Final = reader(Event)
_rows: Final = Rows(events, from_row)


TIME_PREFIX_CHARS: Final = {1: 19, 10: 18, 60: 16, 600: 15, 3_600: 13, DAY: 10}
"""The number of leading characters of a moment's text that identify its unit of time."""

_COMPLETE: Final = "0001-01-01T00:00:00"


@dataclass(frozen=True, slots=True, kw_only=True)
class EventGroup:
    """A group of equal events of a service: count, first, last and sessions.

    `session_id` is the last session that reported it.
    """

    level: Level
    service: str | None
    text: str
    count: int
    first_id: int
    last_id: int
    first_at: datetime
    last_at: datetime
    sessions: int
    session_id: int | None


async def extent(db: Database) -> tuple[datetime, datetime] | None:
    """Return the times of the first and the last event; None without events."""
    query = sa.select(
        sa.func.min(events.c.created_at).label("first"),
        sa.func.max(events.c.created_at).label("last"),
    )
    row = await db.fetch_one(query)
    return None if row is None or row["first"] is None else (row["first"], row["last"])


async def count_by_time(db: Database, selection: EventSelection, unit: int) -> list[EventCount]:
    """Return the number of events by level and unit of time, without empty units."""
    began: sa.Label[str] = sa.func.substr(
        events.c.created_at, 1, TIME_PREFIX_CHARS[unit], type_=sa.Text()
    ).label("began")
    query = (
        sa.select(began, events.c.level, sa.func.count().label("count"))
        .where(*conditions(selection))
        .group_by("began", events.c.level)
    )
    return [
        EventCount(at=_moment(row["began"]), level=Level(row["level"]), count=row["count"])
        for row in await db.fetch_all(query)
    ]


async def page_groups(
    db: Database, selection: EventSelection, *, limit: int, position: Sequence[Any] | None = None
) -> Page[EventGroup]:
    """Return one page of groups of equal events, the most recent first.

    The groups of all times are maintained; those of a range or a session are counted.
    """
    limited = (selection.since, selection.until, selection.session) != (None, None, None)
    query, last = _counted_groups(selection) if limited else _maintained_groups(selection)
    if position is not None:
        behind = after([Key(last, descending=True)], position)
        query = query.having(behind) if limited else query.where(behind)
    rows = await db.fetch_all(query.order_by(last.desc()).limit(limit + 1))
    items = list(map(_group, rows[:limit]))
    return Page(items, [items[-1].last_id] if len(rows) > limit else None)


_Groups = tuple[sa.Select[Any], sa.ColumnElement[int]]


def _maintained_groups(selection: EventSelection) -> _Groups:
    columns = event_groups.c
    query = sa.select(*(columns[each.name] for each in fields(EventGroup)))
    return query.where(*conditions(selection, columns)), columns.last_id


def _counted_groups(selection: EventSelection) -> _Groups:
    last: sa.ColumnElement[int] = sa.func.max(events.c.id)
    query = (
        sa.select(
            events.c.level,
            events.c.service,
            events.c.text,
            sa.func.count().label("count"),
            sa.func.min(events.c.id).label("first_id"),
            last.label("last_id"),
            sa.func.min(events.c.created_at).label("first_at"),
            sa.func.max(events.c.created_at).label("last_at"),
            sa.func.count(events.c.session_id.distinct()).label("sessions"),
            sa.func.max(events.c.session_id).label("session_id"),
        )
        .where(*conditions(selection))
        .group_by(events.c.level, events.c.service, events.c.text)
    )
    return query, last


_group: Final = reader(EventGroup)


def _moment(beginning: str) -> datetime:
    whole = beginning + _COMPLETE[len(beginning) :]
    return datetime.fromisoformat(whole).replace(tzinfo=UTC)
