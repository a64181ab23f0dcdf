"""Latency over a period and heartbeats: bounded, exact where folded, and equal to the results."""

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from contexts import context
from lamplighter.domain.services.check import TcpCheck
from lamplighter.domain.services.checks.silence import MaintenanceWindow
from lamplighter.domain.services.latency import LatencyPeriod, merge_spans, weighted_percentile
from lamplighter.domain.services.series import (
    DAY,
    Aggregate,
    CheckRun,
    PointState,
    SeriesResolution,
)
from lamplighter.domain.services.service import Service, Services
from lamplighter.repository import Database
from lamplighter.repository.services import series, series_totals
from lamplighter.usecases.services import check_folding, check_runs, silence
from lamplighter.usecases.services.check_folding import CheckRetention
from lamplighter.usecases.services.check_history import read_uptime
from lamplighter.usecases.services.check_trends import read_heartbeats, read_latency

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
HOUR = 60 * MINUTE
NIGHTLY = MaintenanceWindow(name="backup", cron="0 3 * * *", seconds=3_600.0)
DB = Service(
    name="db",
    checks=(
        TcpCheck(name="tcp", host="127.0.0.1", port=1),
        TcpCheck(name="replica", host="127.0.0.1", port=2),
    ),
    maintenance=(NIGHTLY,),
)
WEB = Service(name="web", checks=(TcpCheck(name="tcp", host="127.0.0.1", port=1),))
SERVICES = Services((DB, WEB))


def run(at: datetime, state: str = "passed", *, check: str = "tcp", ms: float = 20.0) -> CheckRun:
    return CheckRun(
        service="db", check=check, kind="tcp", at=at, state=PointState(state), latency_ms=ms
    )


async def record(db: Database, *runs: CheckRun) -> None:
    for first in range(0, len(runs), check_runs.AT_ONCE):
        some = runs[first : first + check_runs.AT_ONCE]
        await check_runs.record(context(db, max(each.at for each in some)), some, SERVICES)


async def latency(db: Database, period: LatencyPeriod, now: datetime = NOON) -> dict[str, Any]:
    return await read_latency(db, DB, period, now=now)


async def test_latency_is_equal_before_and_after_folding(db: Database) -> None:
    began = NOON - 3 * DAY
    hours = [
        run(began + n * HOUR + MINUTE, "failed" if n == 30 else "passed", ms=float(n))
        for n in range(72)
    ]
    await record(db, *hours)
    before = [await latency(db, period) for period in (LatencyPeriod.WEEK, LatencyPeriod.QUARTER)]

    await check_folding.fold(db, CheckRetention(points=10 * DAY), before=NOON)
    after = [await latency(db, period) for period in (LatencyPeriod.WEEK, LatencyPeriod.QUARTER)]

    assert after[0] == before[0]
    [week] = after[0]["checks"]
    assert (sum(week["count"]), sum(week["failures"]), after[0]["seconds"]) == (72, 1, 3_600)
    [quarter] = after[1]["checks"]
    assert quarter["count"] == [12, 24, 24, 12]
    assert quarter["max_ms"] == before[1]["checks"][0]["max_ms"] == [11, 35, 59, 71]


@pytest.mark.parametrize("period", list(LatencyPeriod))
async def test_latency_has_at_most_200_spans(db: Database, period: LatencyPeriod) -> None:
    span, now = period.span, NOON + 7 * MINUTE
    start = period.start(now)
    await record(db, *(run(start + n * span) for n in range((now - start) // span + 1)))

    [found] = (await latency(db, period, now + MINUTE))["checks"]

    assert 50 < len(found["at"]) <= 200
    assert found["at"] == sorted(set(found["at"]))
    assert found["at"][-1] == (now - period.start(now + MINUTE)) // span


@pytest.mark.parametrize("folded", [False, True])
async def test_latency_is_compared_with_the_previous_period(db: Database, *, folded: bool) -> None:
    week, now = timedelta(days=7), NOON
    runs = [
        run(now - week * age - hour * HOUR, ms=ms)
        for age, ms in ((1, 20.0), (0, 50.0))
        for hour in range(1, 25)
    ]
    await record(db, *sorted(runs, key=lambda each: each.at))
    if folded:
        await check_folding.fold(db, CheckRetention(), before=now)

    [found] = (await latency(db, LatencyPeriod.WEEK))["checks"]

    assert (found["median_ms"], found["before_ms"]) == (50.0, 20.0)


async def test_month_merged_by_the_database_equals_merge_spans(db: Database) -> None:
    began, slow = NOON - 2 * DAY, 2 * HOUR
    runs = [run(began + n * MINUTE, ms=float(n * 7 % 90)) for n in range(400)]
    runs += [run(began + slow + n * HOUR, "failed", ms=float(n)) for n in range(5, 30)]
    runs.append(replace(run(NOON - 11 * HOUR), latency_ms=None))
    await record(db, *sorted(runs, key=lambda each: each.at))
    await check_folding.fold(db, CheckRetention(), before=NOON - 2 * MINUTE)

    [found] = (await latency(db, LatencyPeriod.MONTH))["checks"]

    [tcp] = [each for each in await series.every(db) if each.check == "tcp"]
    fine = await series.aggregates(db, SeriesResolution.FINE, tcp.id, start=began, end=NOON)
    expected = merge_spans(fine, LatencyPeriod.MONTH.span)
    for name in ("count", "failures", "p50_ms", "p95_ms", "max_ms"):
        assert found[name] == [getattr(each, name) for each in expected], name


async def test_latency_lists_pauses_and_maintenance_windows(db: Database) -> None:
    await silence.pause(
        context(db, NOON - 2 * HOUR), SERVICES, "db", "disk", by="me", until=NOON - HOUR
    )

    found = (await latency(db, LatencyPeriod.DAY))["silences"]

    assert [(each["kind"], each["since"][11:16], each["until"][11:16]) for each in found] == [
        ("maintenance", "03:00", "04:00"),
        ("pause", "10:00", "11:00"),
    ]


async def test_heartbeats_are_the_last_results_of_all_checks(db: Database) -> None:
    await record(db, *(run(NOON - n * MINUTE) for n in range(80, 0, -1)))
    await record(
        db,
        run(NOON - 90 * timedelta(seconds=1), "failed", check="replica"),
        run(NOON, "warned", ms=900.4),
    )

    [found, empty] = await read_heartbeats(db, list(SERVICES), now=NOON + MINUTE)

    assert (len(found["states"]), found["states"][-3:]) == (60, "fpw")
    assert found["ages"][-3:] == [90, 60, 0]
    assert [found["checks"][number] for number in found["of"][-3:]] == ["replica", "tcp", "tcp"]
    assert found["latency_ms"][-1] == 900
    assert (found["day"], found["month"]) == (0.0, 0.0)
    assert (empty["states"], empty["at"], empty["day"]) == ("", None, None)


@pytest.mark.parametrize("seed", range(3))
async def test_uptime_counts_each_result_outside_of_silence_once(db: Database, seed: int) -> None:
    chance = random.Random(seed)
    ages = sorted((chance.uniform(0.1, 100) for _ in range(150)), reverse=True)
    runs = [run(NOON - age * HOUR, chance.choice(("passed", "failed"))) for age in ages]
    began, until = NOON - 50 * HOUR, NOON - 44 * HOUR
    await silence.pause(context(db, began), SERVICES, "db", "disk", by="me", until=until)
    cut = chance.randrange(20, 130)
    await record(db, *runs[:cut])
    await check_folding.fold(db, CheckRetention(points=20 * DAY), before=runs[cut - 1].at + MINUTE)
    await record(db, *runs[cut:])

    later = replace(DB, maintenance=())  # what was stored stays as it was
    found = await read_uptime(db, later, now=NOON)

    counted = [each for each in runs if each.at.hour != 3 and not began <= each.at < until]
    for name, days in (("day", 1), ("week", 7), ("quarter", 90)):
        some = [each for each in counted if each.at >= NOON - days * DAY]
        failed = sum(each.state is PointState.FAILED for each in some)
        assert found[name] == round(100 * (1 - failed / len(some)), 3), name


async def test_results_in_silence_are_counted_separately_and_shown_as_maintenance(
    db: Database,
) -> None:
    night = NOON.replace(hour=3)
    states = ("passed", "failed", "passed", "failed")
    ats = [night + n * MINUTE for n in (-2, 1, 2, 61)]
    await record(db, *(run(at, state) for at, state in zip(ats, states, strict=True)))
    [beats, _] = await read_heartbeats(db, list(SERVICES), now=NOON)
    assert (beats["states"], beats["day"]) == ("pmmf", 50.0)

    await check_folding.fold(db, CheckRetention(), before=NOON + DAY)

    [held] = await series.of_services(db, ["db"])
    for span, silent in ((SeriesResolution.FINE, [0, 2, 0]), (SeriesResolution.DAILY, [2])):
        found = await series.aggregates(db, span, held.id, start=NOON - DAY, end=NOON + DAY)
        assert [each.silent for each in found] == silent
        assert sum(each.silent_failures for each in found) == 1
    month = await db.fetch(
        series_totals.merged_fetch(
            SeriesResolution.FINE, held.id, DAY, start=NOON - DAY, end=NOON + DAY
        )
    )
    assert month == merge_spans(found, DAY)


def test_merged_percentiles_are_weighted_by_the_number_of_results() -> None:
    one = Aggregate(at=NOON, count=90, failures=1, warnings=0, p50_ms=10, p95_ms=20, max_ms=30)
    slow = Aggregate(
        at=NOON + 5 * MINUTE, count=10, failures=2, warnings=1, p50_ms=500, p95_ms=600, max_ms=700
    )

    [found] = merge_spans([one, slow], HOUR)

    assert (found.count, found.failures, found.warnings) == (100, 3, 1)
    assert (found.p50_ms, found.p95_ms, found.max_ms) == (10, 600, 700)


def test_a_median_of_few_results_does_not_count_like_one_of_many() -> None:
    assert weighted_percentile([(10, 1), (20, 1), (None, 9), (30, 2)], 50) == 20
    assert weighted_percentile([(10, 1), (30, 3)], 50) == 30
    assert weighted_percentile([(None, 4)], 50) is None
