"""Queries on many check results at once: failures, and the newest results of each series."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.services.latency import weighted_percentile
from lamplighter.domain.services.series import (
    DAY,
    EPOCH,
    Aggregate,
    CheckSeries,
    PointState,
    SeriesResolution,
    span_start,
)
from lamplighter.repository.services.series import series_rows
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.dialect import NUMBER, InIdList, Seconds, UTCDateTime
from lamplighter.repository.store.statements import Fetch, Statement, fetch_list
from lamplighter.repository.store.tables import check_aggregates, check_points, check_series

BEATS: Final = 60
"""The number of results in a heartbeat strip."""

END: Final = EPOCH + timedelta(days=365 * 1_000)
"""A moment after every result."""

_EPOCH: Final = sa.literal(EPOCH, UTCDateTime())
_FAILED: Final = sa.case((check_points.c.state == PointState.FAILED, 1), else_=0)
_SILENT: Final = check_points.c.silent == sa.literal_column("1")
SILENT_LETTER: Final = "m"
"""The letter for a result in a pause or a maintenance window."""

_TOTALS: Final = ("count", "failures", "warnings", "silent", "silent_failures")


@dataclass(frozen=True, slots=True)
class Beats:
    """The newest results of a series, newest first, in columns.

    `at` are milliseconds since 1970. `states` are the first letters of the states, or `m` in a
    pause or a maintenance window.
    """

    at: list[int] = field(default_factory=list)
    states: str = ""
    latency_ms: list[int | None] = field(default_factory=list)


def _prepare_newest() -> Statement:
    """Prepare the query with one row per series: 60 rows each would cost several times as much."""
    letter = sa.case((_SILENT, SILENT_LETTER), else_=sa.func.substr(check_points.c.state, 1, 1))
    few = (
        sa.select(check_points.c.at, letter.label("letter"), check_points.c.latency_ms)
        .where(check_points.c.series_id == sa.bindparam("series", 0))
        .order_by(check_points.c.at.desc())
        .limit(BEATS)
        .subquery()
    )
    fraction = sa.cast(sa.func.substr(few.c.at, 21, 3), sa.Integer)
    latency = sa.cast(sa.cast(sa.func.round(few.c.latency_ms), sa.Integer), sa.Text)
    join = sa.func.aggregate_strings
    return Statement(
        sa.select(
            join(sa.cast(Seconds(few.c.at) * 1_000 + fraction, sa.Text), ",").label("at"),
            join(few.c.letter, "").label("states"),
            join(sa.func.coalesce(latency, ""), ",").label("latency"),
        )
    )


_NEWEST: Final = _prepare_newest()


def _moment(name: str) -> sa.BindParameter[datetime]:
    return sa.bindparam(name, EPOCH, type_=UTCDateTime())  # the separator of texts needs defaults


_OF_SERIES: Final = InIdList(check_series.c.id, sa.bindparam("ids", type_=sa.Text))


def _prepare_folded() -> sa.Select[Any]:
    own = check_aggregates.c
    return (
        sa.select(
            own.series_id.label("id"),
            sa.func.sum(own.count - own.silent).label("count"),
            sa.func.sum(own.failures - own.silent_failures).label("failures"),
        )
        .where(InIdList(own.series_id, sa.bindparam("ids", type_=sa.Text)))
        .where(own.span == sa.bindparam("of"))
        .where(own.at >= _moment("start"), own.at < _moment("end"))
        .group_by(own.series_id)
    )


_FOLDED: Final = Statement(_prepare_folded())
_TODAY: Final = Statement(
    _prepare_folded()
    .join(check_series, check_series.c.id == check_aggregates.c.series_id)
    .where(check_aggregates.c.at >= sa.func.coalesce(check_series.c.day_folded_to, _EPOCH))
)
_SINGLE: Final = Statement(
    sa.select(
        check_series.c.id,
        sa.func.count().label("count"),
        sa.func.sum(_FAILED).label("failures"),
    )
    .join(check_points, check_points.c.series_id == check_series.c.id)
    .where(_OF_SERIES, check_points.c.at >= _moment("start"))
    .where(check_points.c.at >= sa.func.coalesce(check_series.c.folded_to, _EPOCH))
    .where(check_points.c.state != PointState.INCONCLUSIVE, ~_SILENT)
    .group_by(check_series.c.id)
)


def _within(*columns: sa.ColumnElement[Any]) -> sa.Select[Any]:
    """Return the query of the aggregates of one series and resolution between two moments."""
    own = check_aggregates.c
    return (
        sa.select(*columns)
        .where(own.span == sa.bindparam("of", ""), own.series_id == sa.bindparam("series", 0))
        .where(own.at >= _moment("start"), own.at < _moment("end"))
    )


def _prepare_merged() -> Statement:
    own, join = check_aggregates.c, sa.func.aggregate_strings
    at = (Seconds(own.at) // sa.bindparam("seconds", 1, type_=NUMBER)).label("span")
    values = [
        join(sa.func.coalesce(sa.cast(own[name], sa.Text), ""), ",").label(f"{name}_all")
        for name in ("count", "p50_ms", "p95_ms")
    ]
    totals = [sa.func.sum(own[name]).label(name) for name in _TOTALS]
    query = _within(at, *totals, sa.func.max(own.max_ms).label("max_ms"), *values)
    return Statement(query.group_by(at).order_by(at))


_MERGED: Final = _prepare_merged()
_MEDIANS: Final = Statement(
    _within(check_aggregates.c.p50_ms, check_aggregates.c.count), tuples=True
)


async def counts_since(
    db: Database, series: Sequence[CheckSeries], *starts: datetime
) -> list[dict[int, tuple[int, int]]]:
    """Return the number of conclusive results and failures of some series since each moment.

    Results of pauses and maintenance windows do not count. Whole days with daily aggregates are
    counted by these, the rest by 5-minute aggregates and single results. Results older than their
    retention do not count.
    """
    ids = [each.id for each in series]
    queries: dict[tuple[object, ...], Any] = {}
    part_keys = []
    for start in starts:
        parts = _parts(series, json.dumps(ids), start)
        part_keys.append(list(parts))
        queries |= parts
    rows = await db.fetch_each(list(queries.values())) if ids else [[] for _ in queries]
    counted = dict(zip(queries, rows, strict=True))
    return [_sum(ids, [counted[part] for part in each]) for each in part_keys]


def _parts(
    series: Sequence[CheckSeries], ids: str, start: datetime
) -> dict[tuple[object, ...], Any]:
    """Return the queries whose sum is the count since a moment; several moments share some."""
    midnight = span_start(start, DAY)
    first = midnight if midnight == start else midnight + DAY
    daily, fine = SeriesResolution.DAILY, SeriesResolution.FINE
    # nearly equal for all series: a bound for the index, refined by the exact one of each series
    today = min((max(first, each.day_folded_to or EPOCH) for each in series), default=first)
    newer = min((max(start, each.folded_to or EPOCH) for each in series), default=start)
    return {
        ("edge", start): _FOLDED(ids=ids, of=fine, start=start, end=first),
        ("days", first): _FOLDED(ids=ids, of=daily, start=first, end=END),
        ("today", today): _TODAY(ids=ids, of=fine, start=today, end=END),
        ("single", newer): _SINGLE(ids=ids, start=newer),
    }


def _sum(ids: Sequence[int], parts: Sequence[Sequence[Any]]) -> dict[int, tuple[int, int]]:
    counts: dict[int, tuple[int, int]] = dict.fromkeys(ids, (0, 0))
    for rows in parts:
        for row in rows:
            count, failures = counts[row["id"]]
            counts[row["id"]] = count + int(row["count"]), failures + int(row["failures"])
    return counts


def medians_fetch(
    of: SeriesResolution, series_id: int, *, start: datetime, end: datetime
) -> Fetch[list[tuple[float | None, int]]]:
    """Build the fetch of the medians of a series' aggregates, each with its number of results."""
    return fetch_list(_MEDIANS(of=of, series=series_id, start=start, end=end), tuple)


async def newest(db: Database, series_ids: Sequence[int]) -> dict[int, Beats]:
    """Return the newest results of some series."""
    found = await db.fetch_each([_NEWEST(series=number) for number in series_ids])
    return {number: _beats(row) for number, [row] in zip(series_ids, found, strict=True)}


def _beats(row: Any) -> Beats:
    if row["at"] is None:
        return Beats()
    return Beats(
        at=[int(each) for each in row["at"].split(",")],
        states=row["states"],
        latency_ms=[int(each) if each else None for each in row["latency"].split(",")],
    )


def merged_fetch(
    of: SeriesResolution, series_id: int, span: timedelta, *, start: datetime, end: datetime
) -> Fetch[list[Aggregate]]:
    """Build the fetch of the aggregates of a series, merged into longer spans, oldest first.

    The database groups them: a month has 8,640, and a row for each would cost ten times as much.
    """
    seconds = int(span.total_seconds())
    query = _MERGED(of=of, series=series_id, seconds=seconds, start=start, end=end)
    return fetch_list(query, lambda row: _merged(row, span))


def _merged(row: Any, span: timedelta) -> Aggregate:
    counts = [int(each) for each in row["count_all"].split(",")]
    p50_ms, p95_ms = (
        weighted_percentile(zip(_numbers(row[f"{name}_all"]), counts, strict=True), percent)
        for name, percent in (("p50_ms", 50), ("p95_ms", 95))
    )
    return Aggregate(
        at=EPOCH + int(row["span"]) * span,
        **{name: int(row[name]) for name in _TOTALS},
        p50_ms=p50_ms,
        p95_ms=p95_ms,
        max_ms=row["max_ms"],
    )


def _numbers(joined: str) -> list[float | None]:
    return [float(each) if each else None for each in joined.split(",")]


async def checked_since(db: Database, moment: datetime) -> list[CheckSeries]:
    """Return the series whose last conclusive result is from a moment or later."""
    query = (
        sa.select(check_series)
        .where(check_series.c.checked_at >= moment)
        .order_by(check_series.c.checked_at, check_series.c.id)
    )
    return await series_rows.fetch(db, query)
