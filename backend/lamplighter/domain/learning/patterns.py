"""Patterns in time: a failure that occurs at the same time of day, or of the week."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import pairwise
from statistics import median
from typing import Final

SPAN: Final = timedelta(days=60)
"""The period of failures that count."""

MIN_DAYS: Final = 3
"""The minimum number of days on which a failure occurred at one time for a memory."""

MIN_SHARE: Final = 0.8
"""The minimum share of all failures that occurred at that time."""

NEAR_SECONDS: Final = 30 * 60
"""The maximum distance of a failure's start from that time."""

ROUNDED: Final = 15 * 60
DAY_SECONDS: Final = 24 * 60 * 60
DAILY_GAP: Final = 2
"""Failures with a median gap below this number of days are called daily."""


@dataclass(frozen=True, slots=True)
class TimePattern:
    """The time of a failure: `second` of the day (UTC), and `days`, empty if these vary.

    `times` of `total` failures began near that time.
    """

    second: float
    days: str
    times: int
    total: int


def time_pattern(starts: Sequence[datetime]) -> TimePattern | None:
    """Return the time pattern of a failure from the starts of its incidents, oldest first."""
    seconds = [_second(each) for each in starts]
    around_midnight = (-DAY_SECONDS, 0, DAY_SECONDS)
    ordered = sorted(each + shift for each in seconds for shift in around_midnight)

    def near(second: float) -> int:
        least, most = second - NEAR_SECONDS, second + NEAR_SECONDS
        return bisect_right(ordered, most) - bisect_left(ordered, least)

    middle = max(seconds, key=near, default=0.0)
    best = [each for each in starts if is_near(each, middle)]
    if len(best) < MIN_SHARE * len(starts):
        return None
    around = [(_second(each) - middle + DAY_SECONDS / 2) % DAY_SECONDS for each in best]
    second = middle - DAY_SECONDS / 2 + median(around) if best else 0.0
    rounded = round(second / ROUNDED) * ROUNDED % DAY_SECONDS
    days = sorted({_day(each, rounded) for each in best})
    if len(days) < MIN_DAYS:
        return None
    gaps = [(later - earlier).days for earlier, later in pairwise(days)]
    weekdays = {each.strftime("%As") for each in days}
    if len(weekdays) == 1:
        return TimePattern(rounded, f"on {weekdays.pop()}", len(best), len(starts))
    daily = "each day" if median(gaps) < DAILY_GAP else ""
    return TimePattern(rounded, daily, len(best), len(starts))


def pattern_at(second: float, days: str, starts: Sequence[datetime]) -> TimePattern:
    """Return the current counts of a previously detected pattern."""
    return TimePattern(second, days, sum(fits(each, second, days) for each in starts), len(starts))


def fits(moment: datetime, second: float, days: str) -> bool:
    """Whether a moment is near the time of a pattern, and on its weekday if it has one."""
    weekday = _day(moment, second).strftime("on %As")
    return is_near(moment, second) and (not days.startswith("on ") or days == weekday)


def _day(moment: datetime, second: float) -> date:
    """Return the day of a time that a moment is near: the next one, shortly before midnight."""
    return (moment - timedelta(seconds=second) + timedelta(hours=12)).date()


def is_near(moment: datetime, second: float) -> bool:
    """Whether a moment is near a second of the day, also across midnight."""
    apart = abs(_second(moment) - second)
    return min(apart, DAY_SECONDS - apart) <= NEAR_SECONDS


def time_words(second: float, days: str) -> str:
    """Return a time as text, for example `03:00 UTC on Mondays`."""
    hours, minutes = divmod(int(second) // 60, 60)
    return f"{hours:02}:{minutes:02} UTC {days}".rstrip()


def _second(moment: datetime) -> float:
    return moment.hour * 3600.0 + moment.minute * 60 + moment.second
