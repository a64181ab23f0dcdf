"""Push checks: when a run counts as missed, based on stored times only."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamplighter.domain.services.check import PushCheck
from lamplighter.domain.services.checks.push import (
    SETTLE,
    Evaluation,
    PushSignal,
    PushState,
    SignalKind,
    evaluate,
    new_key,
    next_expected,
    parse_signal,
    schedule_of,
    schedule_problem,
)
from lamplighter.domain.services.series import CheckRun, PointState

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
HOURLY = PushCheck(name="job", every=3_600.0, grace=300.0)
NIGHTLY = PushCheck(name="job", cron="30 2 * * *", zone="Europe/Berlin", grace=300.0)
START, SUCCESS, FAIL = SignalKind.START, SignalKind.SUCCESS, SignalKind.FAIL


def state_of(check: PushCheck, at: datetime = NOON) -> PushState:
    return PushState(service="backup", check="job", schedule=schedule_of(check), counted_from=at)


def signal(minutes: float, kind: SignalKind = SUCCESS, body: str = "") -> PushSignal:
    at = NOON + timedelta(minutes=minutes)
    status = 3 if kind is FAIL else None
    return PushSignal(
        id=1, service="backup", check="job", kind=kind, exit_status=status, body=body, at=at
    )


def evaluated(*signals: PushSignal, minutes: float, check: PushCheck = HOURLY) -> Evaluation:
    now = NOON + timedelta(minutes=minutes)
    return evaluate(check, state_of(check), signals, now=now)


def states(found: Evaluation) -> list[tuple[float, str]]:
    return [((run.at - NOON) / MINUTE, run.state.value) for run in found.runs]


def test_a_job_without_signals_fails_once_per_missed_run_after_the_grace() -> None:
    assert states(evaluated(minutes=64)) == []
    assert states(evaluated(minutes=66)) == [(65.0, "failed")]
    assert states(evaluated(minutes=190)) == [
        (65.0, "failed"),
        (125.0, "failed"),
        (185.0, "failed"),
    ]
    [run] = evaluated(minutes=66).runs
    assert run.detail == "no signal since the run expected at 2026-01-01 13:00:00 UTC"


def test_a_signal_passes_and_the_next_run_counts_from_it() -> None:
    found = evaluated(signal(50), minutes=114)

    assert states(found) == [(50.0, "passed")]
    assert states(evaluated(signal(50), minutes=116)) == [(50.0, "passed"), (115.0, "failed")]


def test_a_late_signal_does_not_remove_the_failure_before_it() -> None:
    assert states(evaluated(signal(70), minutes=80)) == [(65.0, "failed"), (70.0, "passed")]


def test_the_time_from_start_to_finish_is_the_latency() -> None:
    [run] = evaluated(signal(50, START), signal(52), minutes=60).runs

    assert run.latency_ms == 120_000.0


def test_a_started_job_must_finish_within_its_grace() -> None:
    found = evaluated(signal(10, START), minutes=20)

    assert states(found) == [(15.0, "failed")]
    assert found.runs[0].detail == "started at 2026-01-01 12:10:00 UTC and did not finish in 5 min"
    finished = evaluate(HOURLY, found.state, [signal(30)], now=NOON + 40 * MINUTE)
    assert states(finished) == [(30.0, "passed")]
    assert finished.runs[0].latency_ms == 1_200_000.0


def test_a_failed_run_has_the_exit_status_and_the_output_of_the_job() -> None:
    [run] = evaluated(signal(5, FAIL, "dumping\nno space left\n"), minutes=6).runs

    assert (run.state, run.status) == (PointState.FAILED, 3)
    assert run.detail == "the job ended with exit status 3: dumping | no space left"


def test_a_changed_schedule_counts_from_now() -> None:
    found = evaluate(NIGHTLY, state_of(HOURLY), [], now=NOON + timedelta(days=9))

    assert found.runs == []
    assert found.state.counted_from == NOON + timedelta(days=9)


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (datetime(2026, 1, 1, 12, tzinfo=UTC), datetime(2026, 1, 2, 1, 30, tzinfo=UTC)),
        (datetime(2026, 7, 1, 12, tzinfo=UTC), datetime(2026, 7, 2, 0, 30, tzinfo=UTC)),
        (datetime(2026, 3, 28, 12, tzinfo=UTC), datetime(2026, 3, 29, 1, 0, tzinfo=UTC)),
        (datetime(2026, 10, 25, 0, 15, tzinfo=UTC), datetime(2026, 10, 25, 0, 30, tzinfo=UTC)),
        (datetime(2026, 10, 25, 1, 15, tzinfo=UTC), datetime(2026, 10, 26, 1, 30, tzinfo=UTC)),
    ],
)
def test_a_cron_expression_follows_the_clock_of_its_zone(
    after: datetime, expected: datetime
) -> None:
    assert next_expected(NIGHTLY, after) == expected


def test_a_run_in_the_repeated_hour_of_autumn_is_expected_only_once() -> None:
    began = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    ended = replace(signal(0), at=began + timedelta(minutes=45))

    found = evaluate(
        NIGHTLY,
        state_of(NIGHTLY, began - timedelta(days=1)),
        [ended],
        now=began + timedelta(hours=9),
    )

    assert [(run.at, run.state.value) for run in found.runs] == [
        (began + timedelta(minutes=5), "failed"),
        (ended.at, "passed"),
    ]


@pytest.mark.parametrize("expression", ["", "x", "* * * *", "61 * * * *", "0 0 31 2 *"])
def test_an_invalid_or_never_due_cron_expression_is_rejected(expression: str) -> None:
    assert schedule_problem(expression)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("start", (START, None)),
        ("fail", (FAIL, None)),
        ("0", (SUCCESS, 0)),
        ("255", (FAIL, 255)),
        ("256", None),
        ("-1", None),
        ("success", None),
        ("²", None),
    ],
)
def test_the_last_path_segment_is_parsed_as_a_signal(
    word: str, expected: tuple[SignalKind, int | None] | None
) -> None:
    assert parse_signal(word) == expected


def test_a_key_has_144_random_bits() -> None:
    assert len(new_key()) == 24
    assert len({new_key() for _ in range(100)}) == 100


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 600), st.sampled_from(SignalKind)), max_size=8),
    st.lists(st.floats(0, 700), max_size=6),
)
def test_the_results_do_not_depend_on_how_often_they_are_evaluated(
    given_signals: list[tuple[float, SignalKind]], moments: list[float]
) -> None:
    signals = [signal(minutes, kind) for minutes, kind in sorted(given_signals)]
    end = NOON + 700 * MINUTE + SETTLE

    stepwise: list[CheckRun] = []
    state, used = state_of(HOURLY), 0
    for now in [*(NOON + m * MINUTE for m in sorted(moments)), end]:
        come = [each for each in signals[used:] if each.at <= now]
        found = evaluate(HOURLY, state, come, now=now)
        state, used = found.state, used + found.used
        stepwise += found.runs

    assert stepwise == list(evaluate(HOURLY, state_of(HOURLY), signals, now=end).runs)


def test_a_long_silence_is_recorded_in_parts_and_completely() -> None:
    check = PushCheck(name="job", every=60.0, grace=60.0)
    now = NOON + timedelta(hours=5)
    state, runs = state_of(check), list[CheckRun]()

    for expected in (100, 100, 98, 0):
        found = evaluate(check, state, [], now=now)
        assert len(found.runs) == expected
        state, runs = found.state, [*runs, *found.runs]

    assert [(run.at - NOON) / MINUTE for run in runs] == [float(n) for n in range(2, 300)]
