"""Folding: the results of scheduled checks become aggregates, and old ones are removed."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

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
from lamplighter.repository import Database, reading, writing
from lamplighter.repository.services import series

AT_ONCE: Final = 20
"""Series in one transaction: about 10 ms, so that other writers get their turn."""

SETTLE: Final = timedelta(seconds=30)
"""A span of time is folded when it ended this long ago."""

PRUNE_EVERY: Final = timedelta(hours=1)
_SPANS: Final = ((SeriesResolution.FINE, BUCKET), (SeriesResolution.DAILY, DAY))


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRetention:
    """How long single results, 5-minute aggregates and daily aggregates are kept."""

    points: timedelta = timedelta(hours=48)
    fine: timedelta = timedelta(days=90)
    daily: timedelta = timedelta(days=730)


@dataclass(frozen=True, slots=True)
class _Fold:
    series: CheckSeries
    span: SeriesResolution
    aggregates: Sequence[Aggregate]
    end: datetime


async def fold(db: Database, retention: CheckRetention, *, before: datetime) -> int:
    """Fold the spans of time that have ended, and remove what retention no longer covers.

    Every result from before `before` must be stored already. Folding twice changes nothing;
    a kill loses nothing: results stay until the day they belong to is folded. Returns how
    many series had a span to fold.
    """
    found = [each for each in await series.every(db) if _is_due(each, before)]
    for first in range(0, len(found), AT_ONCE):
        some = found[first : first + AT_ONCE]
        async with reading(db):
            folds = [each for one in some for each in await _folds(db, one, before)]
        async with writing(db):
            for each in folds:
                await series.fold(db, each.span, each.series.id, each.aggregates, to=each.end)
            for one in some:
                if _may_prune(one, before):
                    await _prune(db, one, retention, before)
    return len(found)


def _folded_to(each: CheckSeries, span: SeriesResolution) -> datetime:
    return (each.folded_to if span is SeriesResolution.FINE else each.day_folded_to) or EPOCH


def _is_due(each: CheckSeries, before: datetime) -> bool:
    return _folded_to(each, SeriesResolution.FINE) < span_start(before - SETTLE, BUCKET)


def _may_prune(each: CheckSeries, before: datetime) -> bool:
    folded = _folded_to(each, SeriesResolution.FINE)
    return span_start(folded, PRUNE_EVERY) < span_start(before - SETTLE, PRUNE_EVERY)


async def _folds(db: Database, each: CheckSeries, before: datetime) -> list[_Fold]:
    """Return the aggregates of the spans of a series that have ended."""
    folds: list[_Fold] = []
    for name, span in _SPANS:
        start, end = _folded_to(each, name), span_start(before - SETTLE, span)
        if start < end:
            points = await series.points(db, each.id, start=start, end=end)
            folds.append(_Fold(each, name, aggregate(points, span), end))
    return folds


async def _prune(
    db: Database, each: CheckSeries, retention: CheckRetention, before: datetime
) -> None:
    """Remove what is older than retention covers; the results of today are not folded yet."""
    today = span_start(before - SETTLE, DAY)
    await series.prune_points(db, each.id, before=min(today, before - retention.points))
    for span, kept in (
        (SeriesResolution.FINE, retention.fine),
        (SeriesResolution.DAILY, retention.daily),
    ):
        await series.prune_aggregates(db, span, each.id, before=before - kept)
