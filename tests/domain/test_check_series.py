"""Check results as a time series: the last state of a check, and the summary of a period."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.services.series import (
    BUCKET,
    DAY,
    Aggregate,
    CheckRun,
    CheckSeries,
    PointState,
    SeriesPoint,
    SeriesResolution,
    advance,
    aggregate,
    percentile,
    resolution_for,
    span_start,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
NEW = CheckSeries(id=1, service="web", check="http", kind="http")
PASSED = CheckRun(
    service="web", check="http", kind="http", at=NOON, state=PointState.PASSED, latency_ms=3.0
)


def point(minutes: int, state: PointState = PointState.PASSED, ms: float | None = 1.0):
    return SeriesPoint(at=NOON + minutes * MINUTE, state=state, latency_ms=ms)


def after(*states: PointState) -> CheckSeries:
    series = NEW
    for number, state in enumerate(states):
        series = advance(series, replace(PASSED, at=NOON + number * MINUTE, state=state))
    return series


@pytest.mark.parametrize(
    ("states", "failing", "streak", "minutes"),
    [
        (["passed"], False, 1, 0),
        (["passed", "passed"], False, 2, 0),
        (["passed", "warned"], False, 2, 0),
        (["passed", "failed"], True, 1, 1),
        (["failed", "failed", "passed"], False, 1, 2),
        (["failed", "inconclusive", "failed"], True, 2, 0),
        (["passed", "inconclusive"], False, 1, 0),
    ],
)
def test_a_series_has_the_last_conclusive_state(
    states: list[str], failing: bool, streak: int, minutes: int
) -> None:
    series = after(*map(PointState, states))

    assert (series.failing, series.streak) == (failing, streak)
    assert series.changed_at == NOON + minutes * MINUTE


def test_a_repeated_or_older_result_is_ignored() -> None:
    series = after(PointState.PASSED, PointState.FAILED)

    assert advance(series, replace(PASSED, at=NOON + MINUTE)) == series
    assert advance(series, PASSED) == series


def test_an_aggregate_counts_failures_and_has_nearest_rank_latencies() -> None:
    points = [point(n, ms=float(n)) for n in range(4)] + [point(4, PointState.FAILED, None)]

    assert aggregate(points, BUCKET) == [
        Aggregate(at=NOON, count=5, failures=1, warnings=0, p50_ms=1.0, p95_ms=3.0, max_ms=3.0)
    ]


def test_inconclusive_results_are_not_aggregated() -> None:
    assert aggregate([point(0, PointState.INCONCLUSIVE)], BUCKET) == []


@given(st.lists(st.tuples(st.integers(0, 4_000), st.sampled_from(PointState)), max_size=200))
def test_aggregates_of_5_minutes_and_of_days_count_the_same(
    drawn: list[tuple[int, PointState]],
) -> None:
    points = [point(minutes, state) for minutes, state in drawn]

    fine, daily = aggregate(points, BUCKET), aggregate(points, DAY)

    assert sum(each.count for each in fine) == sum(each.count for each in daily)
    assert sum(each.failures for each in fine) == sum(each.failures for each in daily)
    assert [each.at for each in fine] == sorted({each.at for each in fine})


@given(st.lists(st.floats(0, 1e6), min_size=1), st.integers(0, 100))
def test_a_percentile_is_a_measured_value(values: list[float], percent: int) -> None:
    assert percentile(sorted(values), percent) in values


def test_days_begin_at_midnight_utc() -> None:
    assert span_start(NOON, DAY) == NOON.replace(hour=0)
    assert span_start(NOON + timedelta(minutes=7), BUCKET) == NOON + BUCKET


@pytest.mark.parametrize(
    ("hours", "resolution"),
    [(1, SeriesResolution.RAW), (24, SeriesResolution.FINE), (24 * 30, SeriesResolution.DAILY)],
)
def test_a_longer_period_has_a_coarser_resolution(hours: int, resolution: SeriesResolution) -> None:
    assert resolution_for(timedelta(hours=hours)) is resolution
