"""When a check runs: spread over the minute, and without catching up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.services.schedule import SPREAD_SECONDS, first_delay, late_ms, next_due


@pytest.mark.parametrize(
    ("due", "interval", "now", "following"),
    [
        (100.0, 60.0, 100.0, 160.0),
        (100.0, 60.0, 101.5, 160.0),
        (100.0, 60.0, 159.9, 160.0),
        (100.0, 60.0, 160.0, 220.0),
        (100.0, 60.0, 100.0 + 3_600, 100.0 + 3_660),
    ],
)
def test_the_next_run_keeps_the_schedule_and_skips_missed_times(
    due: float, interval: float, now: float, following: float
) -> None:
    assert next_due(due, interval, now) == following


@given(st.floats(0, 1e6), st.floats(1, 86_400), st.floats(0, 1e6))
def test_the_next_run_is_in_the_future_and_within_one_interval(
    due: float, interval: float, behind: float
) -> None:
    now = due + behind

    following = next_due(due, interval, now)

    assert now - 1e-3 <= following <= now + interval + 1e-3


def test_a_thousand_checks_are_spread_evenly() -> None:
    delays = [first_delay(f"service-{number}", "http", 60.0) for number in range(1_000)]

    by_second = [sum(int(each) == second for each in delays) for second in range(60)]
    assert max(delays) < 60
    assert max(by_second) <= 40


def test_the_first_run_of_a_slow_check_is_within_a_minute() -> None:
    assert all(first_delay(f"s{n}", "c", 86_400.0) < SPREAD_SECONDS for n in range(100))


@pytest.mark.parametrize(("began", "late"), [(10.0, 0), (10.9, 0), (12.5, 2_500), (9.0, 0)])
def test_a_delay_up_to_one_second_is_not_late(began: float, late: int) -> None:
    assert late_ms(10.0, began) == late
