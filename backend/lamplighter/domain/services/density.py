"""Density: the number of events in each interval of time, by level."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from lamplighter.domain.services.event import Level

MONDAY: Final = datetime(1970, 1, 5, tzinfo=UTC)
"""The origin of intervals: a week begins on a Monday and a day at midnight UTC."""

DAY: Final = 86_400
UNITS: Final = (DAY, 3_600, 600, 60, 10, 1)
"""The units of an interval, in seconds; each is a prefix of a timestamp's text."""

WIDTHS: Final = (
    *(1, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 10_800, 21_600, 43_200),
    *(DAY, 2 * DAY, 7 * DAY, 28 * DAY),
)


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """Consecutive intervals of one width, in seconds, that cover a range of time."""

    start: datetime
    seconds: int
    count: int

    @property
    def unit(self) -> int:
        """The longest unit that the width is a multiple of."""
        return next(unit for unit in UNITS if self.seconds % unit == 0)

    def moments(self) -> list[datetime]:
        """Return the beginning of each interval."""
        return [self.start + timedelta(seconds=self.seconds * at) for at in range(self.count)]

    def place(self, moment: datetime) -> int:
        """Return the index of the interval of a moment; outside, that of the nearest one."""
        at = int((moment - self.start).total_seconds() // self.seconds)
        return min(max(0, at), self.count - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventCount:
    """The number of events of a level in one unit of time."""

    at: datetime
    level: Level
    count: int


def choose_axis(begin: datetime, until: datetime, *, most: int) -> TimeAxis:
    """Return the narrowest intervals, at most `most` (two or more), that cover a range of time."""
    longest = WIDTHS[-1]
    span = (until - begin).total_seconds()
    wider = range(2 * longest, int(span) + 4 * longest, longest)
    for seconds in (*WIDTHS, *wider):
        first = int((begin - MONDAY).total_seconds() // seconds)
        last = int(-(-(until - MONDAY).total_seconds() // seconds))
        if last - first <= most:
            start = MONDAY + timedelta(seconds=first * seconds)
            return TimeAxis(start, seconds, max(1, last - first))
    raise ValueError("no width is wide enough")  # unreachable: a wider width needs at most two


def count_by_level(counts: Iterable[EventCount], along: TimeAxis) -> Sequence[dict[Level, int]]:
    """Return the number of events of each level in each interval."""
    found = [dict.fromkeys(Level, 0) for _ in range(along.count)]
    for each in counts:
        found[along.place(each.at)][each.level] += each.count
    return found
