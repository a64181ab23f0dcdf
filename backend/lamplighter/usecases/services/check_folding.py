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
"""The number of series in one transaction: about 10 ms, to let other writers continue."""

SETTLE: Final = timedelta(seconds=30)
"""How long after its end a time span is folded."""

PRUNE_EVERY: Final = timedelta(hours=1)
_SPANS: Final = {SeriesResolution.FINE: BUCKET, SeriesResolution.DAILY: DAY}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRetention:
    """How long single results, 5-minute aggregates and daily aggregates are stored."""

    points: timedelta = timedelta(hours=48)
    fine: timedelta = timedelta(days=90)
    daily: timedelta = timedelta(days=730)


async def fold(db: Database, retention: CheckRetention, *, before: datetime) -> int:
    """Fold the time spans that have ended, and remove results and aggregates past their retention.

    Every result from before `before` must be stored already. Folding twice changes nothing; a kill
    loses nothing: results stay until their day is folded. Returns how many series had a span to
    fold.
    """
    due = [each for each in await series.every(db) if _is_due(each, before)]
    for first in range(0, len(due), AT_ONCE):
        some = due[first : first + AT_ONCE]
        async with reading(db):
            folds = {name: await _folds(db, some, name, before) for name in _SPANS}
        async with writing(db):
            for name, aggregates in folds.items():
                await series.fold(db, name, aggregates, to=_end(name, before))
            await _prune(db, [one.id for one in some if _may_prune(one, before)], retention, before)
    return len(due)


def _folded_to(each: CheckSeries, span: SeriesResolution) -> datetime:
    return (each.folded_to if span is SeriesResolution.FINE else each.day_folded_to) or EPOCH


def _end(span: SeriesResolution, before: datetime) -> datetime:
    """Return the time up to which results can be folded."""
    return span_start(before - SETTLE, _SPANS[span])


def _is_due(each: CheckSeries, before: datetime) -> bool:
    fine = SeriesResolution.FINE
    return _folded_to(each, fine) < _end(fine, before)


def _may_prune(each: CheckSeries, before: datetime) -> bool:
    folded = _folded_to(each, SeriesResolution.FINE)
    return span_start(folded, PRUNE_EVERY) < span_start(before - SETTLE, PRUNE_EVERY)


async def _folds(
    db: Database, some: Sequence[CheckSeries], span: SeriesResolution, before: datetime
) -> dict[int, list[Aggregate]]:
    """Return the aggregates of those series that have an ended span."""
    end = _end(span, before)
    starts = {each.id: _folded_to(each, span) for each in some}
    spans = {number: (start, end) for number, start in starts.items() if start < end}
    found = await series.all_points(db, spans) if spans else {}
    return {number: aggregate(points, _SPANS[span]) for number, points in found.items()}


async def _prune(
    db: Database, ids: Sequence[int], retention: CheckRetention, before: datetime
) -> None:
    """Remove entries past their retention, except results of today, which are not folded yet."""
    today = span_start(before - SETTLE, DAY)
    await series.prune_points(db, ids, before=min(today, before - retention.points))
    for span, age in (
        (SeriesResolution.FINE, retention.fine),
        (SeriesResolution.DAILY, retention.daily),
    ):
        await series.prune_aggregates(db, span, ids, before=before - age)
