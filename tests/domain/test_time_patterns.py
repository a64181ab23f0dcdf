"""Failures that recur at the same time of the day or week."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.learning.patterns import (
    DAY_SECONDS,
    MIN_DAYS,
    MIN_SHARE,
    TimePattern,
    is_near,
    pattern_at,
    time_pattern,
    time_words,
)

MONDAY = datetime(2026, 1, 5, tzinfo=UTC)


def at(*moments: str) -> list[datetime]:
    """Return moments, each as `day hour:minute`; day 0 is a Monday."""
    found = []
    for each in moments:
        day, _, time = each.partition(" ")
        hour, _, minute = time.partition(":")
        found.append(MONDAY + timedelta(days=int(day), hours=int(hour), minutes=int(minute)))
    return found


@pytest.mark.parametrize(
    ("moments", "words"),
    [
        (["0 3:02", "1 3:05", "2 2:58"], "03:00 UTC each day: 3 of 3"),
        (["0 3:02", "1 3:05", "2 2:58", "2 14:00"], None),
        (["0 3:02", "1 3:05", "2 2:58", "3 3:00", "3 14:00"], "03:00 UTC each day: 4 of 5"),
        (["0 23:50", "1 23:58", "3 0:05"], "00:00 UTC each day: 3 of 3"),
        (["0 3:00", "7 3:10", "14 3:05"], "03:00 UTC on Mondays: 3 of 3"),
        (["6 23:50", "14 0:05", "21 0:04"], "00:00 UTC on Mondays: 3 of 3"),
        (["0 23:52", "1 0:05", "1 23:52", "2 0:05"], None),  # two nights
        (["0 3:00", "5 3:10", "14 3:05"], "03:00 UTC: 3 of 3"),
        (["0 3:00", "0 3:10", "0 3:20", "1 3:00"], None),
        (["0 3:00", "1 3:10"], None),
        (["0 3:00", "1 9:10", "2 15:00", "3 21:00"], None),
        ([], None),
    ],
)
def test_a_pattern_needs_three_days(moments: list[str], words: str | None) -> None:
    found = time_pattern(at(*moments))

    said = found and f"{time_words(found.second, found.days)}: {found.times} of {found.total}"
    assert said == words


@given(st.lists(st.integers(0, 40 * DAY_SECONDS), max_size=30).map(sorted))
def test_a_pattern_covers_the_minimum_share_of_failures_and_days(seconds: list[int]) -> None:
    starts = [MONDAY + timedelta(seconds=each) for each in seconds]

    found = time_pattern(starts)

    if found is None:
        return
    assert 0 <= found.second < DAY_SECONDS
    assert found.total == len(starts)
    assert MIN_SHARE * found.total <= found.times <= found.total
    assert len({each.date() for each in starts}) >= MIN_DAYS


def test_a_known_pattern_is_counted_in_new_failures() -> None:
    starts = at("0 3:00", "1 3:20", "2 12:00")

    assert pattern_at(3 * 3600.0, "each day", starts) == TimePattern(10_800.0, "each day", 2, 3)
    on_mondays = at("0 3:00", "7 3:00", "8 3:00", "9 12:00")
    assert pattern_at(3 * 3600.0, "on Mondays", on_mondays).times == 2
    assert is_near(at("0 23:45")[0], 0.0)
    assert not is_near(at("0 23:15")[0], 0.0)
