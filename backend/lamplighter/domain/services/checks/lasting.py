"""Lasting warnings: a check passes with a warning for long enough that a person is notified."""

from collections.abc import Mapping, Sequence, Set
from datetime import datetime, timedelta
from statistics import median
from typing import Final

from lamplighter.domain.services.incident import Incident, IncidentMember, connected, root_of
from lamplighter.domain.services.series import PointState, SeriesPoint
from lamplighter.domain.services.service import Services

IN_A_ROW: Final[Mapping[str, int]] = {"tls": 1}
"""Warnings in a row that count as lasting, by kind of check; certificate expiry is steady."""

USUALLY_IN_A_ROW: Final = 5
FULL_WITHIN: Final = timedelta(hours=24)
TREND_POINTS: Final = 120
TREND_SPAN: Final = timedelta(minutes=30)
"""The minimum period for a trend."""

TREND_LOSS: Final = 1.0
"""The minimum loss in that period, in percent of the disk; less may be a log that rotates."""

REST: Final = timedelta(minutes=5)
AGAIN: Final = timedelta(hours=24)
"""If a warning lasts after a person closed its incident, another incident opens after this time."""


def lasts(kind: str, points: Sequence[SeriesPoint]) -> bool:
    """Whether the newest conclusive results of a check are warnings, and enough of them."""
    conclusive = [each for each in points if each.state is not PointState.INCONCLUSIVE]
    needed = IN_A_ROW.get(kind, USUALLY_IN_A_ROW)
    newest = conclusive[-needed:]
    return len(newest) == needed and all(each.state is PointState.WARNED for each in newest)


def full_in(free: Sequence[tuple[datetime, float]]) -> timedelta | None:
    """Return the time until a disk is full by the trend of its free percentages, oldest first.

    None if free space does not shrink, or the period is too short. The medians of the first, middle
    and last third are compared, which ignores temporary files.
    """
    third = len(free) // 3
    if not third or free[-1][0] - free[0][0] < TREND_SPAN:
        return None
    first, middle, last = (
        median(value for _, value in free[start : start + third])
        for start in (0, third, len(free) - third)
    )
    if first - last < TREND_LOSS or not first > middle > last:
        return None
    passed = free[len(free) - third + third // 2][0] - free[third // 2][0]
    return last / (first - last) * passed


def is_new(
    last: datetime | None, points: Sequence[SeriesPoint], *, trend: bool, now: datetime
) -> bool:
    """Whether a lasting warning differs from that of its service's last incident.

    `points` are the results since that incident: a warning that went away and returned is new.
    """
    if last is None or now - last >= AGAIN:
        return True
    passed = any(each.state is PointState.PASSED for each in points)
    return now - last >= REST and passed and not trend


def plan_warnings(
    services: Services,
    warning: Mapping[str, datetime],
    failing: Set[str],
    live: Mapping[int, tuple[Incident, Sequence[IncidentMember]]],
) -> tuple[tuple[tuple[str, ...], ...], Mapping[str, int]]:
    """Return the incidents to open, each root first, and the services that join an open one.

    `warning` maps services with a lasting warning to its start. A service connected with a failing
    one waits, because the failure explains more.
    """
    inside = {each.service: number for number, (_, some) in live.items() for each in some}
    opened: list[tuple[str, ...]] = []
    join: dict[str, int] = {}
    for group in connected(services, warning.keys() | failing):
        fresh = {name for name in group if name in warning and name not in inside}
        held = {inside[name] for name in group if name in inside}
        if not fresh or group & failing:
            continue
        if held:
            join |= {name: min(held) for name in sorted(fresh)}
            continue
        root = root_of(services, {name: warning[name] for name in fresh})
        opened.append((root, *sorted(fresh - {root})))
    return tuple(opened), join
