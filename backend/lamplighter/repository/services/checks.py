"""Check results: the evidence for the reports of a probe."""

from collections.abc import Sequence
from datetime import date, datetime
from functools import lru_cache
from typing import Any, Final, NamedTuple

import msgspec
import sqlalchemy as sa

from lamplighter.domain.sessions.session import CheckResult, Status, Trigger
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.dialect import InTextList, Json, JsonRows, stamp
from lamplighter.repository.store.statements import (
    Fetch,
    Page,
    Rows,
    Statement,
    has_row,
    update_rows,
)
from lamplighter.repository.store.tables import checks, days, reader, sessions

ROUND_TIER: Final = 1
COMPLETE_STATUSES: Final = (Status.RUNNING, Status.COMPLETED, Status.ESCALATED)
"""An interrupted round may have checked a service only partly: only its failures count."""


_SAME: Final = checks.alias("same")
_OTHER: Final = checks.alias("other")


def _of_check(rows: Any) -> tuple[sa.ColumnElement[bool], ...]:
    return rows.c.service == checks.c.service, rows.c.name == checks.c.name


_ENDED: Final = (
    sa.select(sa.func.max(_OTHER.c.id))
    .where(*_of_check(_OTHER))
    .where(_OTHER.c.ok == sa.literal_column("1") - sa.type_coerce(checks.c.ok, sa.Integer))
    .correlate(checks)
)
_BEGAN: Final = (
    sa.select(_SAME.c.at)
    .where(*_of_check(_SAME))
    .where(_SAME.c.id > sa.func.coalesce(_ENDED.scalar_subquery(), 0))
    .order_by(_SAME.c.id)
    .limit(1)
    .correlate(checks)
)
_MAX_CACHED: Final = 64
_RESULT: Final = tuple({each.name for each in checks.c} - {"id", "session_id", "at"})


CheckKey = tuple[str, str]
"""A check: the name of its service, and its own name."""


class LatestResult(NamedTuple):
    """The last result of a check, and since when the check has passed or failed."""

    result: CheckResult
    began_at: datetime


class CheckDay(msgspec.Struct, frozen=True, rename={"checks": "looks"}):
    """One day (YYYY-MM-DD, UTC) of a service: the number of check results and failures."""

    day: str
    checks: int = 0
    failed: int = 0
    warned: int = 0


async def insert(db: Database, session_id: int, result: CheckResult, *, now: datetime) -> None:
    """Store the result of a check, and count it in its day."""
    values = {name: getattr(result, name) for name in _RESULT}
    await db.execute(sa.insert(checks).values(session_id=session_id, at=now, **values))
    await _count_in_day(db, result, stamp(now)[:10])


async def recent(db: Database, service: str, name: str, *, limit: int) -> list[CheckResult]:
    """Return the last results of one check, newest first."""
    return await _rows.newest(db, checks.c.service == service, checks.c.name == name, limit=limit)


def latest(keys: Sequence[CheckKey]) -> Fetch[dict[CheckKey, LatestResult]]:
    """Build the fetch of the last result of each of some checks, if it has results."""

    def read(found: Sequence[Sequence[Any]]) -> dict[CheckKey, LatestResult]:
        return {
            (row["service"], row["name"]): LatestResult(_rows.read(row), row["began_at"])
            for rows in found
            for row in rows
        }

    return Fetch([_latest_of(tuple(keys))()] if keys else [], read)


@lru_cache(_MAX_CACHED)
def _latest_of(wanted: Sequence[CheckKey]) -> Statement:
    """Build the statement with one row per key, found by the index of checks."""
    names = sa.column("service", sa.Text), sa.column("name", sa.Text)
    keys = sa.values(*names, name="wanted").data(list(wanted)).cte("wanted")
    last = sa.select(sa.func.max(_OTHER.c.id)).where(
        _OTHER.c.service == keys.c.service, _OTHER.c.name == keys.c.name
    )
    return Statement(
        sa.select(checks, _BEGAN.scalar_subquery().label("began_at"))
        .join(keys, checks.c.id == last.correlate(keys).scalar_subquery())
        .order_by(checks.c.id),
        long=True,
    )


async def latest_of_service(db: Database, service: str) -> list[CheckResult]:
    """Return the last result of each check of a service, ignoring the case of its name."""
    newest = sa.select(sa.func.max(checks.c.id)).where(
        sa.func.lower(checks.c.service) == service.lower()
    )
    query = sa.select(checks).where(checks.c.id.in_(newest.group_by(checks.c.name)))
    rows = await db.fetch_all(query.order_by(checks.c.name, checks.c.id))
    return [_rows.read(row) for row in rows]


async def of_session(
    db: Database, session_id: int, services: Sequence[str] | None = None
) -> list[CheckResult]:
    """Return the check results of a session, of some services or of all, oldest first."""
    query = sa.select(checks).where(checks.c.session_id == session_id).order_by(checks.c.id)
    if services is not None:
        query = query.where(checks.c.service.in_(list(services)))
    return await _rows.fetch(db, query)


async def was_checked(db: Database, session_id: int, service: str) -> bool:
    """Whether a session checked a service."""
    return await has_row(db, checks.c.session_id == session_id, checks.c.service == service)


async def healthy_since(db: Database, service: str, *, after: datetime) -> datetime | None:
    """Return the first time after `after` since which no check of a service has failed."""
    failed = sa.select(sa.func.max(checks.c.id)).where(
        checks.c.service == service, checks.c.ok == sa.literal(0, sa.Integer())
    )
    query = (
        sa.select(checks.c.at)
        .where(checks.c.service == service)
        .where(checks.c.at > after)
        .where(checks.c.id > sa.func.coalesce(failed.scalar_subquery(), 0))
        .order_by(checks.c.id)
        .limit(1)
    )
    found: datetime | None = await db.fetch_val(query)
    return found


async def failures(db: Database, service: str, name: str, *, start: datetime) -> int:
    """Return how often a check started to fail since `start`; repeated failures count once."""
    before = sa.func.lag(checks.c.ok).over(order_by=checks.c.id)
    results = (
        sa.select(checks.c.ok, before.label("before"))
        .where(checks.c.service == service)
        .where(checks.c.name == name)
        .where(checks.c.at > start)
        .subquery()
    )
    failed, passed = sa.literal(0, sa.Integer()), sa.literal(1, sa.Integer())
    return await db.count_rows(
        results, results.c.ok == failed, sa.func.coalesce(results.c.before, passed) == passed
    )


async def rounds(
    db: Database, service: str, *, after: datetime, limit: int, scheduled: bool = False
) -> list[bool]:
    """Return whether each of the last rounds found a service healthy, the newest first.

    `scheduled` leaves out the rounds that a person, a webhook or the API started.
    """
    healthy_now = sa.func.min(checks.c.ok)
    query = (
        sa.select(checks.c.session_id, healthy_now.label("healthy"))
        .join(sessions, sessions.c.id == checks.c.session_id)
        .where(checks.c.service == service)
        .where(checks.c.at > after)
        .where(sessions.c.tier == ROUND_TIER)
        .group_by(checks.c.session_id, sessions.c.status)
        .having(sessions.c.status.in_(COMPLETE_STATUSES) | (healthy_now == 0))
        .order_by(checks.c.session_id.desc())
        .limit(limit)
    )
    if scheduled:
        query = query.where(sessions.c.trigger == Trigger.SCHEDULED)
    return [bool(row["healthy"]) for row in await db.fetch_all(query)]


async def page(
    db: Database, service: str, *, limit: int, position: Sequence[Any] | None = None
) -> Page[CheckResult]:
    """Return one page of a service's results, newest first."""
    return await _rows.page(db, checks.c.service == service, limit=limit, position=position)


_DAYS: Final = Statement(
    sa.select(days.c.service, JsonRows(days.c.day, days.c.looks, days.c.failed, days.c.warned))
    .where(InTextList(days.c.service, sa.bindparam("services", type_=sa.Text)))
    .where(days.c.day >= sa.bindparam("first", type_=sa.Text))
    .where(days.c.day <= sa.bindparam("last", type_=sa.Text))
    .group_by(days.c.service),
    long=True,
    tuples=True,
)
"""One row per service: to fetch a row per day takes twice as long."""


def days_by_service(
    services: Sequence[str], *, first: date, last: date
) -> Fetch[dict[str, list[CheckDay]]]:
    """Build the fetch of the days of some services from `first` to `last`, in any order."""
    query = _DAYS(services=Json.written(services), first=first.isoformat(), last=last.isoformat())
    return Fetch([query], lambda found: {name: _read_days(text) for name, text in found[0]})


async def prune(db: Database, *, before: datetime) -> int:
    """Remove check results from before `before`; their days stay counted."""
    return int(await db.execute(sa.delete(checks).where(checks.c.at < before)))


async def _count_in_day(db: Database, result: CheckResult, day: str) -> None:
    more = {"looks": 1, "failed": int(not result.ok), "warned": int(result.ok and result.warned)}
    sums = {name: days.c[name] + count for name, count in more.items()}
    own = (days.c.service == result.service, days.c.day == day)
    if not await update_rows(db, days, *own, **sums):
        await db.execute(sa.insert(days).values(service=result.service, day=day, **more))


_read_days: Final = msgspec.json.Decoder(list[CheckDay]).decode
_rows: Final = Rows(checks, reader(CheckResult))
