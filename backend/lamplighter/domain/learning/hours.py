"""Slow hours: when in the day or week a check is slower than usual, from 5-minute aggregates."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median
from typing import Final

from lamplighter.domain.services.series import BUCKET, DAY, EPOCH, Aggregate, percentile

WEEK: Final = 7 * DAY
SPAN: Final = {DAY: 2 * WEEK, WEEK: 4 * WEEK}
"""The period of results that count, for hours of the day and of the week."""

MIN_TURNS: Final = {DAY: 5, WEEK: 3}
"""The minimum number of days (weeks) on which a check was slow at one time for a memory."""

MIN_SHARE: Final = 0.8
"""The minimum share of days (weeks) on which the check was slow at that time."""

RATIO: Final = 2.0
EXCESS_MS: Final = 50.0
"""A slow latency is at least this multiple of the usual one, and this much higher."""

MIN_TIMES: Final = 24
"""The minimum number of times of the day (week) with results to know the usual latency."""

IN_A_ROW: Final = 2
"""The minimum number of neighboring slow times: a single one is chance."""

NOISE: Final = 5
"""A check that is this slow at a higher percentage of the other times has no slow hours."""

_BUCKET_SECONDS: Final = BUCKET.total_seconds()


@dataclass(frozen=True, slots=True)
class SlowHours:
    """The start and end (seconds of the period, UTC) of slow hours, on `slow_days` of `days`.

    The period is a day or a week. Latencies are medians, in seconds.
    """

    start: float
    end: float
    slow: float
    usual: float
    slow_days: int
    days: int
    period: timedelta = DAY

    @property
    def weekday(self) -> str:
        """Return the weekday of weekly hours, for example `on Mondays`; else empty."""
        day = EPOCH + timedelta(seconds=self.start)
        return day.strftime("on %As") if self.period == WEEK else ""

    def overlaps(self, other: "SlowHours") -> bool:
        """Whether two of them overlap: at a time of the day, if one of them is daily."""
        period = min(self.period, other.period)
        return any(
            _within(inner.start, outer.start, outer.end, period)
            for inner, outer in ((self, other), (other, self))
        )

    def last_before(self, moment: datetime) -> tuple[datetime, datetime]:
        """Return their last start and end before a moment."""
        until = moment - (moment - EPOCH - timedelta(seconds=self.end)) % self.period
        return until - timedelta(seconds=self.end - self.start) % self.period, until


def slow_hours(aggregates: Sequence[Aggregate]) -> SlowHours | None:
    """Return the hours in which a check is clearly slower than in the rest of the time, if any.

    Daily hours take precedence over those of a weekday. The newest result is the last one.
    """
    for period in (DAY, WEEK):
        newest = [each for each in aggregates if each.at > aggregates[-1].at - SPAN[period]]
        if hours := _slow_hours(newest, period):
            return hours
    return None


def _slow_hours(aggregates: Sequence[Aggregate], period: timedelta) -> SlowHours | None:
    times, least = _by_time(aggregates, period), MIN_TURNS[period]
    profile = {time: median(each.values()) for time, each in times.items() if len(each) >= least}
    if len(profile) < MIN_TIMES:
        return None
    limit = _limit(percentile(sorted(profile.values()), 25) or 0.0)
    rest = [
        ms for time, each in times.items() if profile.get(time, 0) < limit for ms in each.values()
    ]
    limit = _limit(median(rest)) if rest else 0.0
    if not rest or (percentile(sorted(rest), 100 - NOISE) or 0.0) >= limit:
        return None
    runs = _runs(sorted(profile), {time for time, ms in profile.items() if ms >= limit}, period)
    hours = [_hours(start, end, times, median(rest), period) for start, end in runs]
    clear = [each for each in hours if each.slow_days >= max(least, MIN_SHARE * each.days)]
    return max(clear, key=_weight, default=None)


def hours_at(
    start: float, end: float, found: Iterable[Aggregate], period: timedelta
) -> SlowHours | None:
    """Return the current state of previously detected slow hours; None without results."""
    times = _by_time(found, period)
    rest = [
        ms
        for time, each in times.items()
        if not _within(time, start, end, period)
        for ms in each.values()
    ]
    return _hours(start, end, times, median(rest), period) if rest else None


def _hours(
    start: float,
    end: float,
    times: Mapping[float, Mapping[int, float]],
    usual: float,
    period: timedelta,
) -> SlowHours:
    """Return how often a check was slow in these hours, compared with its usual latency."""
    by_turn: dict[int, list[float]] = {}
    for time, turns in times.items():
        for turn, ms in turns.items() if _within(time, start, end, period) else ():
            first = turn if time >= start else turn - 1  # hours past midnight belong to one day
            by_turn.setdefault(first, []).append(ms)
    medians = [median(each) for each in by_turn.values()]
    slow = [each for each in medians if each >= _limit(usual)]
    latency = median(slow or medians or [0.0])
    return SlowHours(start, end, latency / 1_000, usual / 1_000, len(slow), len(medians), period)


def was_slow(hours: SlowHours, aggregates: Iterable[Aggregate], before: datetime) -> bool | None:
    """Whether a check was slow in the last occurrence of these hours; None without results."""
    since, until = hours.last_before(before)
    passed = [(each.at, each.p50_ms) for each in aggregates if each.p50_ms and not each.failures]
    own = [ms for at, ms in passed if since <= at < until]
    rest = [ms for at, ms in passed if until <= at < since + DAY or until - DAY <= at < since]
    usual = max(hours.usual * 1_000, median(rest or [0.0]))  # a slow day has no slow hours
    return median(own) >= _limit(usual) if own else None


def hour_words(start: float, end: float, days: str = "") -> str:
    """Return hours as text, for example `03:00 to 03:10 UTC on Mondays`."""
    first, last = (
        f"{int(each) // 3600 % 24:02}:{int(each) // 60 % 60:02}" for each in (start, end)
    )
    return f"{first} to {last} UTC {days}".rstrip()


def _by_time(aggregates: Iterable[Aggregate], period: timedelta) -> dict[float, dict[int, float]]:
    """Return the median latency by time of the day (week) and by day, of results that passed."""
    times: dict[float, dict[int, float]] = {}
    for each in aggregates:
        if each.p50_ms is not None and not each.failures:
            turn, time = divmod(each.at - EPOCH, period)
            times.setdefault(time.total_seconds(), {})[turn] = each.p50_ms
    return times


def _limit(usual: float) -> float:
    return max(RATIO * usual, usual + EXCESS_MS)


def _within(time: float, start: float, end: float, period: timedelta) -> bool:
    seconds = period.total_seconds()
    return (time - start) % seconds < (end - start) % seconds


def _runs(times: Sequence[float], slow: set[float], period: timedelta) -> list[tuple[float, float]]:
    """Return the starts and ends of runs of slow times, also across midnight."""
    first = next((at for at, time in enumerate(times) if time not in slow), None)
    if first is None:
        return []
    seconds = period.total_seconds()
    runs: list[list[float]] = []
    ordered = [*times[first:], *times[:first]]
    step = median([later - time for time, later in pairwise(times)] or [0.0])
    for before, time in pairwise(ordered):
        near = (time - before) % seconds <= step
        if time in slow and before in slow and near:
            runs[-1].append(time)
        elif time in slow:
            runs.append([time])
    length = max(_BUCKET_SECONDS, step)
    return [(run[0], (run[-1] + length) % seconds) for run in runs if len(run) >= IN_A_ROW]


def _weight(hours: SlowHours) -> float:
    return (hours.slow - hours.usual) * ((hours.end - hours.start) % hours.period.total_seconds())
