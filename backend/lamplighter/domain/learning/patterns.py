"""Patterns in time: a failure that comes at the same time of day, or of the week."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median
from typing import Final

SPAN: Final = timedelta(days=60)
"""How far back failures count."""

MIN_DAYS: Final = 3
"""From so many days on that a failure came at one time it is worth a memory."""

MIN_SHARE: Final = 0.8
"""So many of all failures must have come at that time."""

NEAR: Final = timedelta(minutes=30)
"""How far from its time a failure may begin."""

ROUNDED: Final = 15 * 60
DAY_SECONDS: Final = 24 * 60 * 60
DAILY_GAP: Final = 2
"""Failures that are fewer days apart than this, by the median, are called daily."""


@dataclass(frozen=True, slots=True)
class TimePattern:
    """When a failure comes: `second` of the day (UTC), and `days`, empty where these vary.

    `times` of `total` failures began near that time.
    """

    second: float
    days: str
    times: int
    total: int


def time_pattern(starts: Sequence[datetime]) -> TimePattern | None:
    """Return when a failure comes, from when each of its incidents began, oldest first."""
    best: list[datetime] = []
    for middle in starts:
        some = [each for each in starts if is_near(each, _second(middle))]
        if len(some) > len(best):
            best = some
    days = sorted({each.date() for each in best})
    if len(days) < MIN_DAYS or len(best) < MIN_SHARE * len(starts):
        return None
    first = _second(best[0])
    around = [(_second(each) - first + DAY_SECONDS / 2) % DAY_SECONDS for each in best]
    second = first - DAY_SECONDS / 2 + median(around)
    rounded = round(second / ROUNDED) * ROUNDED % DAY_SECONDS
    gaps = [(later - earlier).days for earlier, later in pairwise(days)]
    weekdays = {each.strftime("%As") for each in days}
    if len(weekdays) == 1:
        return TimePattern(rounded, f"on {weekdays.pop()}", len(best), len(starts))
    daily = "each day" if median(gaps) < DAILY_GAP else ""
    return TimePattern(rounded, daily, len(best), len(starts))


def pattern_at(second: float, days: str, starts: Sequence[datetime]) -> TimePattern:
    """Return what has become of a pattern that was seen before."""
    return TimePattern(second, days, sum(is_near(each, second) for each in starts), len(starts))


def is_near(moment: datetime, second: float) -> bool:
    """Whether a moment is near a second of the day, over midnight too."""
    apart = abs(_second(moment) - second)
    return min(apart, DAY_SECONDS - apart) <= NEAR.total_seconds()


def time_words(second: float, days: str) -> str:
    """Return a time as people read it, for example `03:00 UTC on Mondays`."""
    hours, minutes = divmod(int(second) // 60, 60)
    return f"{hours:02}:{minutes:02} UTC {days}".rstrip()


def _second(moment: datetime) -> float:
    return moment.hour * 3600.0 + moment.minute * 60 + moment.second
