"""Queries on the time series of scheduled checks: results and aggregates."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.services.incident import has_recovered
from lamplighter.domain.services.series import (
    NO_LATENCIES,
    Aggregate,
    CheckRun,
    CheckSeries,
    PointState,
    SeriesPoint,
    SeriesResolution,
)
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.dialect import InTextList, Json, UTCDateTime
from lamplighter.repository.store.statements import Fetch, Rows, Statement, fetch_list
from lamplighter.repository.store.tables import check_aggregates, check_points, check_series, reader

SeriesKey = tuple[str, str]
"""A check: the name of its service, and its own name."""

JUST_NOW: Final = timedelta(minutes=5)
"""For a failure measured this recently, one more attempt is enough to confirm it."""

_POINT: Final = ("state", "latency_ms", "status", "attempts", "late_ms", "detail", "silent")
_AGGREGATE: Final = tuple(Aggregate.__dataclass_fields__)
_MEASURED: Final = ("at", "state", "latency_ms", "silent")
_RESULT: Final = (*_POINT, "kind", "changed_at", "checked_at", "streak", "latencies")
_STATE: Final = sa.select(check_series).where(
    check_series.c.service == sa.bindparam("service"), check_series.c.name == sa.bindparam("name")
)
_FIND: Final = Statement(_STATE)
_OF_SERVICES: Final = Statement(
    sa.select(check_series).where(
        InTextList(check_series.c.service, sa.bindparam("services", type_=sa.Text))
    )
)
_INSERT_POINT: Final = Statement(sa.insert(check_points), ("series_id", "at", *_POINT))
_HAS_POINT: Final = Statement(
    sa.select(check_points.c.series_id, check_points.c.at)
    .where(check_points.c.series_id == sa.bindparam("series"))
    .where(check_points.c.at == sa.bindparam("moment", type_=UTCDateTime()))
)
_UPDATE: Final = Statement(
    sa.update(check_series)
    .where(check_series.c.id == sa.bindparam("series"))
    .values({name: sa.bindparam(f"new_{name}") for name in _RESULT})
)
_POINTS: Final = Statement(
    sa.select(*(check_points.c[name] for name in _MEASURED))
    .where(check_points.c.series_id == sa.bindparam("series"))
    .where(check_points.c.at >= sa.bindparam("start", type_=UTCDateTime()))
    .where(check_points.c.at < sa.bindparam("end", type_=UTCDateTime()))
    .order_by(check_points.c.at)
)
_FAILING: Final = Statement(
    sa.select(check_series)
    .where(check_series.c.state == sa.bindparam("failed"))
    .order_by(check_series.c.id)
)
_FOLDED: Final = {
    span: Statement(
        sa.update(check_series)
        .where(check_series.c.id == sa.bindparam("series"))
        .values({name: sa.bindparam("moment", type_=UTCDateTime())})
    )
    for span, name in (
        (SeriesResolution.FINE, "folded_to"),
        (SeriesResolution.DAILY, "day_folded_to"),
    )
}
_PRUNE_POINTS: Final = Statement(
    sa.delete(check_points)
    .where(check_points.c.series_id == sa.bindparam("series"))
    .where(check_points.c.at < sa.bindparam("moment", type_=UTCDateTime()))
)
_PRUNE_AGGREGATES: Final = Statement(
    sa.delete(check_aggregates)
    .where(check_aggregates.c.span == sa.bindparam("of"))
    .where(check_aggregates.c.series_id == sa.bindparam("series"))
    .where(check_aggregates.c.at < sa.bindparam("moment", type_=UTCDateTime()))
)
_INSERT_AGGREGATE: Final = Statement(
    sa.insert(check_aggregates), tuple(column.name for column in check_aggregates.c)
)


async def find(db: Database, keys: Sequence[SeriesKey]) -> dict[SeriesKey, CheckSeries]:
    """Return the series of some checks, without checks that have none."""
    if not keys:
        return {}
    rows = await db.fetch_each([_FIND(service=service, name=name) for service, name in keys])
    return {
        key: series_rows.read(row) for key, found in zip(keys, rows, strict=True) for row in found
    }


def by_key(services: Sequence[str]) -> Fetch[dict[SeriesKey, CheckSeries]]:
    """Build the fetch of the series of the checks of some services."""
    return Fetch(
        [_OF_SERVICES(services=Json.written(services))],
        lambda found: {(row["service"], row["name"]): series_rows.read(row) for row in found[0]},
    )


async def create(db: Database, run: CheckRun) -> CheckSeries:
    """Insert the series of a check that has never run."""
    return await series_rows.store(
        db,
        service=run.service,
        name=run.check,
        kind=run.kind,
        state=PointState.INCONCLUSIVE,
        streak=0,
        attempts=1,
        late_ms=0,
        detail="",
        silent=False,
        latencies=list(NO_LATENCIES),
    )


async def stored(db: Database, points: Sequence[tuple[int, datetime]]) -> set[tuple[int, datetime]]:
    """Return those of some results that are stored, by series ID and moment."""
    found = await db.fetch_each([_HAS_POINT(series=number, moment=at) for number, at in points])
    return {(row["series_id"], row["at"]) for rows in found for row in rows}


async def insert_points(db: Database, points: Sequence[tuple[int, CheckRun]]) -> None:
    """Insert results, each with the ID of its series."""
    rows = [
        {"series_id": number, "at": run.at, **{name: getattr(run, name) for name in _POINT}}
        for number, run in points
    ]
    await db.run_many(_INSERT_POINT, rows)


async def update(db: Database, changed: Sequence[CheckSeries]) -> None:
    """Store the last results of some series."""
    rows = [
        {"series": each.id, **{f"new_{name}": getattr(each, name) for name in _RESULT}}
        for each in changed
    ]
    await db.run_many(_UPDATE, rows)


async def of_services(db: Database, services: Sequence[str]) -> list[CheckSeries]:
    """Return the series of some services, in the order of their names."""
    query = (
        sa.select(check_series)
        .where(check_series.c.service.in_(list(services)))
        .order_by(check_series.c.service, check_series.c.name, check_series.c.id)
    )
    return await series_rows.fetch(db, query)


async def recovered(db: Database, services: Iterable[str]) -> set[str]:
    """Return the services with scheduled checks that all pass again."""
    by_service: dict[str, list[CheckSeries]] = {}
    for each in await of_services(db, sorted(set(services))):
        by_service.setdefault(each.service, []).append(each)
    return {
        name
        for name, some in by_service.items()
        if all(has_recovered(each, acted=False) for each in some)
    }


async def just_failed(
    db: Database, services: Sequence[str], *, now: datetime
) -> dict[SeriesKey, str]:
    """Return the checks of some services that just failed, after their retries, with the reason."""
    return {
        (each.service, each.check): each.detail
        for each in await of_services(db, services)
        if each.failing and each.checked_at and each.checked_at >= now - JUST_NOW
    }


async def last_passed(db: Database, services: Sequence[str]) -> dict[SeriesKey, datetime]:
    """Return when the failing checks of some services last passed, according to stored results."""
    failing_ids = {
        each.id: (each.service, each.check)
        for each in await of_services(db, services)
        if each.failing
    }
    query = (
        sa.select(check_points.c.series_id, sa.func.max(check_points.c.at).label("at"))
        .where(check_points.c.series_id.in_(list(failing_ids)))
        .where(check_points.c.state == PointState.PASSED)
        .group_by(check_points.c.series_id)
    )
    rows = await db.fetch_all(query) if failing_ids else []
    return {failing_ids[row["series_id"]]: row["at"] for row in rows}


async def failing(db: Database) -> list[CheckSeries]:
    """Return the series whose last conclusive result is a failure."""
    return await series_rows.fetch(db, _FAILING(failed=PointState.FAILED))


async def services_up(db: Database) -> dict[str, bool]:
    """Return whether all checks of each service with results passed last."""
    failed = sa.func.max(sa.case((check_series.c.state == PointState.FAILED, 1), else_=0))
    query = (
        sa.select(check_series.c.service, failed.label("failed"))
        .where(check_series.c.checked_at.is_not(None))
        .group_by(check_series.c.service)
        .order_by(check_series.c.service)
    )
    return {row["service"]: not row["failed"] for row in await db.fetch_all(query)}


async def every(db: Database) -> list[CheckSeries]:
    """Return all series."""
    return await series_rows.oldest(db)


async def points(
    db: Database, series_id: int, *, start: datetime, end: datetime, limit: int
) -> list[SeriesPoint]:
    """Return the newest results of a series from `start` to before `end`, oldest first."""
    query = (
        sa.select(check_points)
        .where(check_points.c.series_id == series_id)
        .where(check_points.c.at >= start)
        .where(check_points.c.at < end)
        .order_by(check_points.c.at.desc())
        .limit(limit)
    )
    return [_point(row, ("at", *_POINT)) for row in reversed(await db.fetch_all(query))]


async def all_points(
    db: Database, spans: Mapping[int, tuple[datetime, datetime]]
) -> dict[int, list[SeriesPoint]]:
    """Return the results of some series between two moments, as far as aggregates need them."""
    fetches = [points_fetch(each, start, end) for each, (start, end) in spans.items()]
    return dict(zip(spans, await db.fetch_together(*fetches), strict=True))


def points_fetch(series_id: int, start: datetime, end: datetime) -> Fetch[list[SeriesPoint]]:
    """Build the fetch of the results of a series, as far as aggregates need them."""
    query = _POINTS(series=series_id, start=start, end=end)
    return fetch_list(query, lambda row: _point(row, _MEASURED))


async def aggregates(
    db: Database,
    span: SeriesResolution,
    series_id: int,
    *,
    start: datetime,
    end: datetime,
    limit: int | None = None,
) -> list[Aggregate]:
    """Return the newest aggregates of a series from `start` to before `end`, oldest first."""
    query = (
        sa.select(check_aggregates)
        .where(check_aggregates.c.span == span)
        .where(check_aggregates.c.series_id == series_id)
        .where(check_aggregates.c.at >= start)
        .where(check_aggregates.c.at < end)
        .order_by(check_aggregates.c.at.desc())
    )
    rows = await db.fetch_all(query if limit is None else query.limit(limit))
    return [_aggregate(row) for row in reversed(rows)]


async def fold(
    db: Database,
    span: SeriesResolution,
    by_series: Mapping[int, Sequence[Aggregate]],
    *,
    to: datetime,
) -> None:
    """Insert the aggregates of some series up to a moment, and store the moment with them."""
    rows = [
        {"span": span, "series_id": number, **{name: getattr(each, name) for name in _AGGREGATE}}
        for number, some in by_series.items()
        for each in some
    ]
    await db.run_many(_INSERT_AGGREGATE, rows)
    await db.run_many(_FOLDED[span], [{"series": number, "moment": to} for number in by_series])


async def prune_points(db: Database, ids: Sequence[int], *, before: datetime) -> None:
    """Remove the results of some series from before a moment."""
    await db.run_many(_PRUNE_POINTS, [{"series": each, "moment": before} for each in ids])


async def prune_aggregates(
    db: Database, span: SeriesResolution, ids: Sequence[int], *, before: datetime
) -> None:
    """Remove the aggregates of some series from before a moment."""
    rows = [{"of": span, "series": each, "moment": before} for each in ids]
    await db.run_many(_PRUNE_AGGREGATES, rows)


def _point(row: Any, names: Sequence[str]) -> SeriesPoint:
    values = {name: row[name] for name in names}
    return SeriesPoint(**{**values, "state": PointState(row["state"])})


_aggregate: Final = reader(Aggregate)
series_rows: Final = Rows(check_series, reader(CheckSeries))
