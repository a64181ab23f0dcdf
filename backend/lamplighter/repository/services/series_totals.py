"""Queries on many results of checks at once: how many failed, and the newest of each series."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.services.series import (
    DAY,
    EPOCH,
    CheckSeries,
    PointState,
    SeriesResolution,
    span_start,
)
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.dialect import UTCDateTime
from lamplighter.repository.store.statements import Statement
from lamplighter.repository.store.tables import check_aggregates, check_points, check_series

Beat = tuple[datetime, str, float | None]
"""The time, the state and the latency of one result."""

_EPOCH: Final = sa.literal(EPOCH, UTCDateTime())
_FAILED: Final = sa.case((check_points.c.state == PointState.FAILED, 1), else_=0)
_NEWEST: Final = Statement(
    sa.select(check_points.c.at, check_points.c.state, check_points.c.latency_ms)
    .where(check_points.c.series_id == sa.bindparam("series"))
    .order_by(check_points.c.at.desc())
    .limit(sa.bindparam("limit"))
)


async def counts_since(
    db: Database, found: Sequence[CheckSeries], *, start: datetime
) -> dict[int, tuple[int, int]]:
    """Return the number of conclusive results of some series since a moment, and of failures.

    Whole days that are folded are counted by their aggregates, the rest by 5-minute aggregates
    and single results. What is older than their retention does not count.
    """
    ids = [each.id for each in found]
    midnight = span_start(start, DAY)
    first = midnight if midnight == start else midnight + DAY
    daily, fine, at = SeriesResolution.DAILY, SeriesResolution.FINE, check_aggregates.c.at
    # the same for nearly every series: the index finds the beginning, the other bound is exact
    today = min((max(first, each.day_folded_to or EPOCH) for each in found), default=first)
    newer = min((max(start, each.folded_to or EPOCH) for each in found), default=start)
    day_end = sa.func.coalesce(check_series.c.day_folded_to, _EPOCH)
    queries = [
        _folded(ids, fine, at >= start, at < first),
        _folded(ids, daily, at >= first),
        _folded(ids, fine, at >= today, at >= day_end),
        _single(ids, newer),
    ]
    counts: dict[int, tuple[int, int]] = dict.fromkeys(ids, (0, 0))
    for rows in await db.fetch_each(queries) if ids else ():
        for row in rows:
            count, failures = counts[row["id"]]
            counts[row["id"]] = count + int(row["count"]), failures + int(row["failures"])
    return counts


async def newest(db: Database, series_ids: Sequence[int], *, limit: int) -> dict[int, list[Beat]]:
    """Return the newest results of some series, newest first."""
    found = await db.fetch_each([_NEWEST(series=number, limit=limit) for number in series_ids])
    return {
        number: [(row["at"], row["state"], row["latency_ms"]) for row in rows]
        for number, rows in zip(series_ids, found, strict=True)
    }


async def checked_since(db: Database, moment: datetime) -> list[CheckSeries]:
    """Return the series whose last conclusive result is from a moment or later."""
    query = (
        sa.select(check_series)
        .where(check_series.c.checked_at >= moment)
        .order_by(check_series.c.checked_at, check_series.c.id)
    )
    return [_series(row) for row in await db.fetch_all(query)]


def _series(row: Any) -> CheckSeries:
    return CheckSeries(
        id=row["id"],
        service=row["service"],
        check=row["name"],
        kind=row["kind"],
        state=PointState(row["state"]),
        checked_at=row["checked_at"],
        latency_ms=row["latency_ms"],
    )


def _folded(
    ids: Sequence[int], span: SeriesResolution, *within: sa.ColumnElement[bool]
) -> sa.Select[Any]:
    return (
        sa.select(
            check_series.c.id,
            sa.func.sum(check_aggregates.c.count).label("count"),
            sa.func.sum(check_aggregates.c.failures).label("failures"),
        )
        .join(check_aggregates, check_aggregates.c.series_id == check_series.c.id)
        .where(check_series.c.id.in_(ids), check_aggregates.c.span == span, *within)
        .group_by(check_series.c.id)
    )


def _single(ids: Sequence[int], start: datetime) -> sa.Select[Any]:
    return (
        sa.select(
            check_series.c.id,
            sa.func.count().label("count"),
            sa.func.sum(_FAILED).label("failures"),
        )
        .join(check_points, check_points.c.series_id == check_series.c.id)
        .where(check_series.c.id.in_(ids), check_points.c.at >= start)
        .where(check_points.c.at >= sa.func.coalesce(check_series.c.folded_to, _EPOCH))
        .where(check_points.c.state != PointState.INCONCLUSIVE)
        .group_by(check_series.c.id)
    )
