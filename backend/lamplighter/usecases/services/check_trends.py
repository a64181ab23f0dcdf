"""Trends of checks: latency over a period, and the newest results of every service."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import chain, islice
from operator import itemgetter
from typing import Any, Final

from lamplighter.domain.services.checks.silence import SilenceKind
from lamplighter.domain.services.latency import LatencyPeriod, merge_spans, weighted_percentile
from lamplighter.domain.services.series import (
    BUCKET,
    DAY,
    EPOCH,
    Aggregate,
    CheckSeries,
    SeriesResolution,
    aggregate,
    span_start,
)
from lamplighter.domain.services.service import Service
from lamplighter.formats.serialize import format_moment
from lamplighter.repository import Database
from lamplighter.repository.services import pauses, series, series_totals
from lamplighter.repository.services.series_totals import BEATS, Beats
from lamplighter.repository.store.statements import Fetch

MAX_SILENCES: Final = 100
MONTH: Final = 30 * DAY
MILLISECOND: Final = timedelta(milliseconds=1)
LENGTHS: Final = {SeriesResolution.DAILY: DAY, SeriesResolution.FINE: BUCKET}
Part = tuple[SeriesResolution, datetime, datetime]


async def read_latency(
    db: Database, service: Service, period: LatencyPeriod, *, now: datetime
) -> dict[str, Any]:
    """Return latency and failures of each check of a service as JSON, in columns."""
    return await latency_of(db, service, await declared_series(db, service), period, now=now)


async def declared_series(db: Database, service: Service) -> list[CheckSeries]:
    """Return the series of the declared checks of a service, in their order."""
    stored = await db.fetch(series.by_key([service.name]))
    keys = [(service.name, each.name) for each in service.checks]
    return [stored[key] for key in keys if key in stored]


async def latency_of(
    db: Database,
    service: Service,
    some: Sequence[CheckSeries],
    period: LatencyPeriod,
    *,
    now: datetime,
) -> dict[str, Any]:
    """Return latency and failures of some checks of a service, as `read_latency` does."""
    start, span = period.start(now), period.span
    return {
        "service": service.name,
        "period": period,
        "since": format_moment(start),
        "until": format_moment(now),
        "seconds": int(span.total_seconds()),
        "checks": [await _check_latency(db, each, start, now, span) for each in some],
        "silences": await _silences(db, service, start, now),
    }


async def _check_latency(
    db: Database, each: CheckSeries, start: datetime, now: datetime, span: timedelta
) -> dict[str, Any]:
    """Return a check over a period, with its median in the preceding period of the same length."""
    early = start - (now - start)
    parts, rest = _stored_parts(each, early, now, span)
    fetches = [
        _merged_fetches(each, _clip(parts, start, now), span),
        _median_fetches(each, _clip(parts, start, now)),
        _median_fetches(each, _clip(parts, early, start)),
        [series.points_fetch(each.id, rest, now + BUCKET)],
    ]
    rows = iter(await db.fetch_together(*chain(*fetches)))
    spans, own, before, points = ([*chain(*islice(rows, len(some)))] for some in fetches)
    fresh = aggregate(points, min(span, BUCKET))
    spans += [one for one in fresh if one.at >= start]
    own += [(one.p50_ms, one.count) for one in fresh if one.at >= start]
    before += [(one.p50_ms, one.count) for one in fresh if one.at < start]
    return {
        "check": each.check,
        "kind": each.kind,
        **_columns(merge_spans(spans, span), start, span),
        "median_ms": _rounded(weighted_percentile(own, 50)),
        "before_ms": _rounded(weighted_percentile(before, 50)),
    }


def _stored_parts(
    each: CheckSeries, start: datetime, end: datetime, span: timedelta
) -> tuple[list[Part], datetime]:
    """Return the aggregates of a time, from the coarsest that fit, and where single results begin.

    Each part has a resolution, its beginning and its end.
    """
    parts: list[Part] = []
    for resolution, to in (
        (SeriesResolution.DAILY, each.day_folded_to),
        (SeriesResolution.FINE, each.folded_to),
    ):
        to = min(to or start, end)
        if span >= LENGTHS[resolution] and to > start:
            parts.append((resolution, start, to))
            start = to
    return parts, start


def _clip(parts: Iterable[Part], start: datetime, end: datetime) -> list[Part]:
    return [
        (resolution, max(begin, start), min(to, end))
        for resolution, begin, to in parts
        if begin < end and to > start
    ]


def _merged_fetches(each: CheckSeries, parts: Iterable[Part], span: timedelta) -> list[Fetch[Any]]:
    """Build the fetches of whole time spans, and of the single aggregates of the last one."""
    return [
        series_totals.merged_fetch(resolution, each.id, length, start=begin, end=to)
        for resolution, begin, end in parts
        for whole in [max(begin, span_start(end, span))]
        for length, begin, to in ((span, begin, whole), (LENGTHS[resolution], whole, end))
        if begin < to
    ]


def _median_fetches(each: CheckSeries, parts: Iterable[Part]) -> list[Fetch[Any]]:
    return [
        series_totals.medians_fetch(resolution, each.id, start=begin, end=end)
        for resolution, begin, end in parts
    ]


def _columns(aggregates: Sequence[Aggregate], start: datetime, span: timedelta) -> dict[str, Any]:
    """Return time spans as columns; `at` is the number of the span since the start."""

    return {
        "at": [(each.at - start) // span for each in aggregates],
        "count": [each.count for each in aggregates],
        "failures": [each.failures for each in aggregates],
        "p50_ms": [_rounded(each.p50_ms) for each in aggregates],
        "p95_ms": [_rounded(each.p95_ms) for each in aggregates],
        "max_ms": [_rounded(each.max_ms) for each in aggregates],
    }


def _rounded(latency: float | None) -> float | None:
    """Return a latency rounded to three digits, the precision of a chart."""
    if latency is None:
        return None
    return round(latency, 1) if latency < 100 else round(latency)


async def _silences(
    db: Database, service: Service, start: datetime, end: datetime
) -> list[dict[str, Any]]:
    """Return the pauses and maintenance windows within a time span, newest last."""
    periods = [
        (
            each.began_at,
            min(each.until or end, each.ended_at or end),
            SilenceKind.PAUSE,
            each.reason,
        )
        for each in await pauses.between(db, service.name, start, end)
    ]
    for window in service.maintenance:
        periods += [
            (began, ended, SilenceKind.MAINTENANCE, window.name)
            for began, ended in window.times(start, end)
        ]
    newest = sorted(periods, key=lambda each: each[0])[-MAX_SILENCES:]
    return [
        {
            "kind": kind,
            "since": format_moment(max(began, start)),
            "until": format_moment(min(ended, end)),
            "reason": reason,
        }
        for began, ended, kind, reason in newest
    ]


async def read_heartbeats(
    db: Database, services: Sequence[Service], *, now: datetime
) -> list[dict[str, Any]]:
    """Return the newest results and the uptime of each service as JSON, in columns."""
    declared = {(each.name, check.name) for each in services for check in each.checks}
    names = [each.name for each in services]
    declared_series = [
        each
        for each in await series.of_services(db, names)
        if (each.service, each.check) in declared
    ]
    points = await series_totals.newest(db, [each.id for each in declared_series])
    day, month = await series_totals.counts_since(
        db, declared_series, now - DAY, span_start(now - MONTH, DAY)
    )
    own: dict[str, list[CheckSeries]] = {}
    for each in declared_series:
        own.setdefault(each.service, []).append(each)
    return [
        {
            "service": name,
            **_beats([(each.check, points[each.id]) for each in own.get(name, ())]),
            "day": uptime(day[each.id] for each in own.get(name, ())),
            "month": uptime(month[each.id] for each in own.get(name, ())),
        }
        for name in names
    ]


def uptime(counts: Iterable[tuple[int, int]]) -> float | None:
    """Return the share of passed results in percent; of several checks the worst counts."""
    shares = [100 * (1 - failed / count) for count, failed in counts if count]
    return round(min(shares), 3) if shares else None


def _beats(pairs: Sequence[tuple[str, Beats]]) -> dict[str, Any]:
    """Return the newest results of some checks as columns, oldest first."""
    checks = [name for name, _ in pairs]
    of: list[int] = []
    if len(pairs) == 1:
        every = pairs[0][1]
    else:
        every, of = _merge([beats for _, beats in pairs])
    last = every.at[0] if every.at else 0
    return {
        "checks": checks,
        "at": format_moment(EPOCH + last * MILLISECOND) if every.at else None,
        "states": every.states[::-1],
        "ages": [(last - at + 500) // 1_000 for at in reversed(every.at)],
        "of": of[::-1],
        "latency_ms": every.latency_ms[::-1],
    }


def _merge(found: Sequence[Beats]) -> tuple[Beats, list[int]]:
    """Return the newest results of several checks as one strip, and the position of each check."""
    rows = sorted(
        (
            (at, number, state, ms)
            for number, beats in enumerate(found)
            for at, state, ms in zip(beats.at, beats.states, beats.latency_ms, strict=True)
        ),
        key=itemgetter(0, 1),
        reverse=True,
    )[:BEATS]
    beats = Beats(
        at=[at for at, _, _, _ in rows],
        states="".join([state for _, _, state, _ in rows]),
        latency_ms=[ms for _, _, _, ms in rows],
    )
    return beats, [number for _, number, _, _ in rows]
