"""Latency and failures of a check over a period, in a bounded number of time spans."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from lamplighter.domain.services.series import BUCKET, DAY, Aggregate, span_start

HOUR: Final = timedelta(hours=1)


class LatencyPeriod(StrEnum):
    """The period of a latency chart."""

    HOUR = "1h"
    DAY = "24h"
    WEEK = "7d"
    MONTH = "30d"
    QUARTER = "90d"

    @property
    def span(self) -> timedelta:
        """Return the length of one entry."""
        return _SPANS[self][0]

    def start(self, now: datetime) -> datetime:
        """Return the beginning of the first entry; the last one contains `now`."""
        span, count = _SPANS[self]
        return span_start(now, span) - (count - 1) * span


_SPANS: Final = {
    LatencyPeriod.HOUR: (timedelta(minutes=1), 60),
    LatencyPeriod.DAY: (2 * BUCKET, 145),
    LatencyPeriod.WEEK: (HOUR, 169),
    LatencyPeriod.MONTH: (4 * HOUR, 181),
    LatencyPeriod.QUARTER: (DAY, 91),
}
"""The length and the number of entries; the first and the last one are partial."""


def merge_spans(aggregates: Iterable[Aggregate], span: timedelta) -> list[Aggregate]:
    """Return aggregates over longer spans of time, oldest first.

    Counts and the maximum are exact. Percentiles of several entries are estimates: the percentile
    of their percentiles, weighted by the number of results.
    """
    groups: dict[datetime, list[Aggregate]] = {}
    for each in aggregates:
        groups.setdefault(span_start(each.at, span), []).append(each)
    return [_merged(at, groups[at]) for at in sorted(groups)]


def weighted_percentile(found: Iterable[tuple[float | None, int]], percent: int) -> float | None:
    """Return a percentile by the nearest rank of weighted values."""
    ordered = sorted([(value, count) for value, count in found if value is not None])
    share = percent * sum([count for _, count in ordered])
    passed = 0
    for value, count in ordered:
        passed += 100 * count
        if passed >= share:
            return value
    return None


def _merged(at: datetime, group: Sequence[Aggregate]) -> Aggregate:
    if len(group) == 1:
        return group[0] if group[0].at == at else replace(group[0], at=at)
    slowest = [each.max_ms for each in group if each.max_ms is not None]
    return Aggregate(
        at=at,
        count=sum(each.count for each in group),
        failures=sum(each.failures for each in group),
        warnings=sum(each.warnings for each in group),
        p50_ms=weighted_percentile([(each.p50_ms, each.count) for each in group], 50),
        p95_ms=weighted_percentile([(each.p95_ms, each.count) for each in group], 95),
        max_ms=max(slowest, default=None),
        silent=sum(each.silent for each in group),
        silent_failures=sum(each.silent_failures for each in group),
    )
