"""Events counted: by time for a histogram, and by what they say."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.density import DAY, Count
from lamplighter.domain.event import Level
from lamplighter.repository.database import Database
from lamplighter.repository.events import Filter, conditions
from lamplighter.repository.paging import Key, Page, after
from lamplighter.repository.tables import events

BEGINNINGS: Final = {1: 19, 10: 18, 60: 16, 600: 15, 3_600: 13, DAY: 10}
"""How many characters of a moment's text tell which unit it lies in."""

_COMPLETE: Final = "0001-01-01T00:00:00"


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Events that say the same of the same service: how many, from when to when, by whom.

    `session_id` is the last session that said it.
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
    """Return when the first and the last event happened; None when nothing did."""
    query = sa.select(
        sa.func.min(events.c.created_at).label("first"),
        sa.func.max(events.c.created_at).label("last"),
    )
    row = await db.fetch_one(query)
    return None if row is None or row["first"] is None else (row["first"], row["last"])


async def density(db: Database, wanted: Filter, unit: int) -> list[Count]:
    """Return how many events of each level there were in each unit of time that had any."""
    began: sa.Label[str] = sa.func.substr(
        events.c.created_at, 1, BEGINNINGS[unit], type_=sa.Text()
    ).label("began")
    query = (
        sa.select(began, events.c.level, sa.func.count().label("count"))
        .where(*conditions(wanted))
        .group_by("began", events.c.level)
    )
    return [
        Count(at=_moment(row["began"]), level=Level(row["level"]), count=row["count"])
        for row in await db.fetch_all(query)
    ]


async def groups(
    db: Database, wanted: Filter, *, limit: int, position: Sequence[Any] | None = None
) -> Page[Group]:
    """Return one page of events that say the same, what happened last first."""
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
        .where(*conditions(wanted))
        .group_by(events.c.level, events.c.service, events.c.text)
        .order_by(last.desc())
        .limit(limit + 1)
    )
    if position is not None:
        query = query.having(after([Key(last, descending=True)], position))
    rows = await db.fetch_all(query)
    items = [_group(row) for row in rows[:limit]]
    return Page(items, [items[-1].last_id] if len(rows) > limit else None)


def _group(row: Any) -> Group:
    return Group(**{**row, "level": Level(row["level"])})


def _moment(beginning: str) -> datetime:
    whole = beginning + _COMPLETE[len(beginning) :]
    return datetime.fromisoformat(whole).replace(tzinfo=UTC)
