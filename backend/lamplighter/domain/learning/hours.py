"""Hours: when of the day a check is slower than usual, from its 5-minute aggregates."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import pairwise
from statistics import median
from typing import Final

from lamplighter.domain.learning.patterns import DAY_SECONDS
from lamplighter.domain.services.series import BUCKET, DAY, Aggregate, percentile

SPAN: Final = 14 * DAY
"""How far back results count."""

MIN_DAYS: Final = 5
"""From so many days on that a check was slow at one time it is worth a memory."""

MIN_SHARE: Final = 0.8
"""So many of the days it must have been slow at that time."""

RATIO: Final = 2.0
EXCESS_MS: Final = 50.0
"""Slow is at least so many times the usual latency, and so much more."""

MIN_TIMES: Final = 24
"""So many times of the day must have results, else the usual latency is not known."""

IN_A_ROW: Final = 2
"""So many neighboring times are slow together: one is chance."""

NOISE: Final = 5
"""A check that is as slow at more percent of the other times has no slow hours."""

_BUCKET_SECONDS: Final = BUCKET.total_seconds()


@dataclass(frozen=True, slots=True)
class SlowHours:
    """From when to when (seconds of the day, UTC) a check is slow, and on `slow_days` of `days`.

    Latencies are medians, in seconds.
    """

    start: float
    end: float
    slow: float
    usual: float
    slow_days: int
    days: int

    def overlaps(self, other: "SlowHours") -> bool:
        """Whether two of them have a time in common."""
        return any(
            _within(inner.start, outer.start, outer.end)
            for inner, outer in ((self, other), (other, self))
        )


def slow_hours(found: Iterable[Aggregate]) -> SlowHours | None:
    """Return the hours in which a check is clearly slower than in the rest of the day, if any."""
    times = _by_time(found)
    profile = {time: median(each.values()) for time, each in times.items() if len(each) >= MIN_DAYS}
    if len(profile) < MIN_TIMES:
        return None
    limit = _limit(percentile(sorted(profile.values()), 25) or 0.0)
    rest = [
        ms for time, each in times.items() if profile.get(time, 0) < limit for ms in each.values()
    ]
    limit = _limit(median(rest)) if rest else 0.0
    if not rest or (percentile(sorted(rest), 100 - NOISE) or 0.0) >= limit:
        return None
    runs = _runs(sorted(profile), {time for time, ms in profile.items() if ms >= limit})
    hours = [slow_days_at(start, end, times, median(rest)) for start, end in runs]
    clear = [each for each in hours if each.slow_days >= max(MIN_DAYS, MIN_SHARE * each.days)]
    return max(clear, key=_weight, default=None)


def hours_at(start: float, end: float, found: Iterable[Aggregate]) -> SlowHours | None:
    """Return what has become of slow hours that were seen before; None without results."""
    times = _by_time(found)
    rest = [
        ms for time, each in times.items() if not _within(time, start, end) for ms in each.values()
    ]
    return slow_days_at(start, end, times, median(rest)) if rest else None


def slow_days_at(
    start: float, end: float, times: Mapping[float, Mapping[date, float]], usual: float
) -> SlowHours:
    """Return on how many days a check was slow in these hours, as against its usual latency."""
    by_day: dict[date, list[float]] = {}
    for time, days in times.items():
        for day, ms in days.items() if _within(time, start, end) else ():
            first = day if time >= start else day - DAY  # hours over midnight are of one day
            by_day.setdefault(first, []).append(ms)
    medians = [median(each) for each in by_day.values()]
    slow = [each for each in medians if each >= _limit(usual)]
    latency = median(slow or medians or [0.0])
    return SlowHours(start, end, latency / 1_000, usual / 1_000, len(slow), len(medians))


def was_slow(hours: SlowHours, found: Iterable[Aggregate], day: datetime) -> bool | None:
    """Whether a check was slow in these hours on a day; None where it has no results then."""
    since = day + timedelta(seconds=hours.start)
    length = (hours.end - hours.start) % DAY_SECONDS
    until = since + timedelta(seconds=length)
    passed = [(each.at, each.p50_ms) for each in found if each.p50_ms and not each.failures]
    own = [ms for at, ms in passed if since <= at < until]
    rest = [ms for at, ms in passed if not since <= at < until and day <= at < day + DAY]
    usual = max(hours.usual * 1_000, median(rest or [0.0]))  # a day that is slow shows no hours
    return median(own) >= _limit(usual) if own else None


def hour_words(start: float, end: float) -> str:
    """Return hours as people read them, for example `03:00 to 03:10 UTC`."""
    first, last = (f"{int(each) // 3600:02}:{int(each) // 60 % 60:02}" for each in (start, end))
    return f"{first} to {last} UTC"


def _by_time(found: Iterable[Aggregate]) -> dict[float, dict[date, float]]:
    """Return the median latency by time of the day and by day, of results that passed."""
    times: dict[float, dict[date, float]] = {}
    for each in found:
        if each.p50_ms is not None and not each.failures:
            midnight = each.at.replace(hour=0, minute=0, second=0, microsecond=0)
            time = (each.at - midnight).total_seconds()
            times.setdefault(time, {})[midnight.date()] = each.p50_ms
    return times


def _limit(usual: float) -> float:
    return max(RATIO * usual, usual + EXCESS_MS)


def _within(time: float, start: float, end: float) -> bool:
    return (time - start) % DAY_SECONDS < (end - start) % DAY_SECONDS


def _runs(known: Sequence[float], slow: set[float]) -> list[tuple[float, float]]:
    """Return from when to when neighboring times are slow, over midnight too."""
    first = next((at for at, time in enumerate(known) if time not in slow), None)
    if first is None:
        return []
    runs: list[list[float]] = []
    ordered = [*known[first:], *known[:first]]
    step = median([later - time for time, later in pairwise(known)] or [0.0])
    for before, time in pairwise(ordered):
        near = (time - before) % DAY_SECONDS <= step
        if time in slow and before in slow and near:
            runs[-1].append(time)
        elif time in slow:
            runs.append([time])
    length = max(_BUCKET_SECONDS, step)
    return [(run[0], (run[-1] + length) % DAY_SECONDS) for run in runs if len(run) >= IN_A_ROW]


def _weight(hours: SlowHours) -> float:
    return (hours.slow - hours.usual) * ((hours.end - hours.start) % DAY_SECONDS)
