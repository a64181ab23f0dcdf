"""Counts of events over time."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.services.density import (
    MONDAY,
    EventCount,
    TimeAxis,
    choose_axis,
    count_by_level,
)
from lamplighter.domain.services.event import Level

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SECONDS = st.integers(0, 250_000_000_000)
MOMENTS = SECONDS.map(lambda each: MONDAY + timedelta(seconds=each))


@pytest.mark.parametrize(
    ("span", "seconds", "unit"),
    [
        (timedelta(seconds=30), 1, 1),
        (timedelta(minutes=25), 30, 10),
        (timedelta(hours=3), 300, 60),
        (timedelta(days=1), 1_800, 600),
        (timedelta(days=30), 43_200, 3_600),
        (timedelta(days=900), 28 * 86_400, 86_400),
    ],
)
def test_intervals_are_as_narrow_as_their_maximum_number_allows(
    span: timedelta, seconds: int, unit: int
) -> None:
    along = choose_axis(NOON, NOON + span, most=60)

    assert (along.seconds, along.unit) == (seconds, unit)


@given(MOMENTS, MOMENTS, st.integers(2, 300))
def test_intervals_cover_the_whole_range_within_the_maximum_number(
    one: datetime, other: datetime, most: int
) -> None:
    since, until = sorted((one, other))

    along = choose_axis(since, until, most=most)

    width = timedelta(seconds=along.seconds)
    assert 1 <= along.count <= most
    assert along.start <= since < along.start + width
    assert until - along.start <= along.count * width or since == until
    assert along.seconds % along.unit == 0


def test_weekly_intervals_begin_on_monday() -> None:
    along = choose_axis(NOON, NOON + timedelta(days=400), most=60)

    assert (along.seconds, along.start) == (7 * 86_400, datetime(2025, 12, 29, tzinfo=UTC))


def test_counts_of_one_interval_are_added_and_empty_intervals_returned() -> None:
    along = TimeAxis(NOON, 60, 3)
    counts = [
        EventCount(at=NOON, level=Level.INFO, count=2),
        EventCount(at=NOON + timedelta(seconds=50), level=Level.INFO, count=3),
        EventCount(at=NOON + timedelta(seconds=125), level=Level.CRITICAL, count=1),
    ]

    found = count_by_level(counts, along)

    assert [list(each.values()) for each in found] == [[5, 0, 0], [0, 0, 0], [0, 0, 1]]
