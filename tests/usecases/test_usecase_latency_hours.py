"""A check that is slow at the same hours of the day becomes a memory, compared by its fields."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
import sqlalchemy as sa

from confidences import DOWN, LEARNED, UP, after
from contexts import context
from lamplighter.domain.learning.hours import SlowHours, hour_words, slow_hours, was_slow
from lamplighter.domain.services.check import HttpCheck
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.series import BUCKET, DAY, Aggregate, CheckRun, SeriesResolution
from lamplighter.domain.services.service import Service, Services
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import memories
from lamplighter.repository.services import events, outcomes, series
from lamplighter.repository.services.events import EventSelection
from lamplighter.repository.store.tables import learned_facts
from lamplighter.usecases.memory import curate
from lamplighter.usecases.services.incidents.latency_hours import learn_hours

from happening import NOON  # isort: skip

MIDNIGHT = NOON.replace(hour=0)
SERVICES = Services(
    (Service(name="web", checks=(HttpCheck(name="http", url="http://127.0.0.1:1/"),)),)
)
Latency = Callable[[int, int], float]
"""The latency (ms) as a function of the day and the minute of that day."""


def of_days(days: int, latency: Latency, *, first: int = 0) -> list[Aggregate]:
    return [
        Aggregate(
            at=MIDNIGHT + day * DAY + minute * timedelta(minutes=1),
            count=5,
            failures=0,
            warnings=0,
            p50_ms=latency(day, minute),
        )
        for day in range(first, first + days)
        for minute in range(0, 1_440, 5)
    ]


def backup(day: int, minute: int) -> float:
    return 900.0 + day if 180 <= minute < 190 else 100.0 + minute // 5 % 3 * 10


@pytest.mark.parametrize(
    ("latency", "words"),
    [
        (backup, (180, 190, 6, 6)),
        (lambda d, m: 300.0 if 9 * 60 <= m < 17 * 60 else 100.0, (540, 1_020, 6, 6)),
        (lambda d, m: 900.0 if m >= 1_430 or m < 10 else 100.0, (1_430, 10, 7, 7)),
        (lambda d, m: 100.0 + m % 40, None),  # the same all day
        (lambda d, m: 140.0 if 180 <= m < 240 else 100.0, None),  # hardly slower
        (lambda d, m: 9.0 if 180 <= m < 240 else 2.0, None),  # too little to notice
        (lambda d, m: 900.0 if m == 180 else 100.0, None),  # one time alone
        (lambda d, m: 900.0 if (d, m // 60) == (0, 3) else 100.0, None),  # one day alone
        (lambda d, m: 900.0 if (d * 31 + m) % 60 < 10 or 180 <= m < 190 else 100.0, None),  # noise
    ],
)
def test_slow_hours_finds_only_hours_clearly_slower_each_day(
    latency: Latency, words: tuple[int, int, int, int] | None
) -> None:
    found = slow_hours(of_days(6, latency))
    shown = found and (found.start / 60, found.end / 60, found.slow_days, found.days)
    assert shown == words


@pytest.mark.parametrize(("slow", "shown"), [((180, 360), None), ((180, 185, 360), (180, 190))])
def test_slow_hours_do_not_span_unmeasured_hours(
    slow: tuple[int, ...], shown: tuple[int, int] | None
) -> None:
    found = [
        each
        for each in of_days(6, lambda d, m: 900.0 if m < 400 else 100.0)
        if each.at.hour * 60 + each.at.minute in {*slow, *range(540, 660, 5)}
    ]
    hours = slow_hours(found)
    assert (hours and (hours.start / 60, hours.end / 60)) == shown


HOURS = SlowHours(10_800, 11_400, 0.9, 0.1, 6, 6)


@pytest.mark.parametrize(
    ("latency", "failures", "slow"),
    [
        (backup, 0, True),
        (lambda d, m: 110.0, 0, False),
        (lambda d, m: 900.0, 0, False),  # the whole day is slow
        (backup, 3, None),  # nothing but failures
    ],
)
def test_was_slow_compares_the_hours_with_the_rest_of_the_day(
    latency: Latency, failures: int, slow: bool | None
) -> None:
    day = [replace(each, failures=failures) for each in of_days(1, latency)]
    assert was_slow(HOURS, day, MIDNIGHT + DAY) is slow


def weekly(day: int, minute: int) -> float:
    return backup(day, minute) if (MIDNIGHT + day * DAY).isoweekday() == 7 else backup(day, 0)


@pytest.mark.parametrize(
    ("latency", "words"),
    [
        (weekly, ("on Sundays", 3, 3)),
        (lambda d, m: weekly(d, m) if d < 14 else 100.0, None),  # two Sundays of three
        (backup, ("", 14, 14)),  # each day, which comes first
        (lambda d, m: 900.0 if m >= 1_430 or m < 10 else 100.0, ("", 15, 15)),
    ],
)
def test_slow_hours_of_one_weekday_need_three_weeks(
    latency: Latency, words: tuple[str, int, int] | None
) -> None:
    found = slow_hours(of_days(22, latency))
    assert (found and (found.weekday, found.slow_days, found.days)) == words
    if latency is weekly:
        assert slow_hours(of_days(14, latency)) is None


def test_slow_hours_of_a_weekday_may_cross_midnight() -> None:
    def latency(day: int, minute: int) -> float:
        weekday = (MIDNIGHT + day * DAY).isoweekday()
        return 900.0 if (weekday, minute // 10) in ((6, 143), (7, 0)) else 100.0

    found = slow_hours(of_days(25, latency))
    assert found is not None
    assert hour_words(found.start, found.end, found.weekday) == "23:50 to 00:10 UTC on Saturdays"


def test_slow_hours_need_five_days() -> None:
    assert slow_hours(of_days(4, backup)) is None
    assert slow_hours(of_days(5, backup)) is not None


async def folded(db: Database, found: list[Aggregate], *, name: str = "web") -> None:
    key = (name, "http")
    async with writing(db):
        held = (await series.find(db, [key])).get(key) or await series.create(
            db,
            CheckRun(service=name, check="http", kind="http", at=NOON, state="passed"),  # type: ignore[arg-type]
        )
        to = found[-1].at + BUCKET
        await series.fold(db, SeriesResolution.FINE, {held.id: found}, to=to)


async def learned(db: Database, day: int, *, hour: int = 1) -> list[tuple[str, float]]:
    now: datetime = MIDNIGHT + day * DAY + hour * timedelta(hours=1)
    await learn_hours(context(db, now), SERVICES)
    found = await memories.list_by_ids(db, range(1, 9))
    return [(each.observation, each.confidence) for each in found if each.active]


async def test_slow_hours_are_learned_and_updated_by_each_new_day(db: Database) -> None:
    await folded(db, of_days(4, backup))
    assert await learned(db, 4) == []

    await folded(db, of_days(1, backup, first=4))
    words = "The http check is slow from 03:00 to 03:10 UTC: {} ms instead of 110 ms ({} days)"
    assert await learned(db, 5) == [(words.format(902, "5 of 5"), LEARNED)]
    assert await learned(db, 5, hour=9) == [(words.format(902, "5 of 5"), LEARNED)], "once a day"
    fact = await outcomes.fact_of(db, 1)
    assert fact is not None
    assert (fact.signature, fact.seconds[:2]) == ("http", (10_800.0, 11_400.0))

    await folded(db, of_days(1, backup, first=5))
    assert await learned(db, 6) == [(words.format(902, "6 of 6"), after(UP))]

    await folded(db, of_days(1, lambda d, m: 110.0, first=6))
    assert await learned(db, 7) == [(words.format(902, "6 of 7"), after(UP, DOWN))]


async def test_deleted_memory_of_slow_hours_needs_new_days(db: Database) -> None:
    await folded(db, of_days(6, backup))
    assert len(await learned(db, 6)) == 1
    await curate.delete(db, 1, version=None, now=MIDNIGHT + 6 * DAY)
    await folded(db, of_days(1, backup, first=6))
    assert await learned(db, 7) == []
    await folded(db, of_days(5, backup, first=7))
    assert len(await learned(db, 12)) == 1


async def test_slow_hours_that_move_are_learned_at_their_new_time(db: Database) -> None:
    await folded(db, of_days(6, backup))
    await learned(db, 6)
    found = {}
    for day in range(6, 19):
        later = of_days(1, lambda d, m: 900.0 if 300 <= m < 310 else 110.0, first=day)
        await folded(db, later)
        found[day] = await learned(db, day + 1)

    assert found[10] == [], "each day at which they were not slow weakened it"
    [(words, _)] = found[18]
    assert words.startswith("The http check is slow from 05:00 to 05:10 UTC: 900 ms")


async def test_slow_weekday_is_updated_only_on_that_weekday(db: Database) -> None:
    sunday = 28 - MIDNIGHT.isoweekday()  # the days before its night are in the past
    await folded(db, of_days(sunday, weekly))
    assert await learned(db, sunday) == [], "it was slow a week ago, not yesterday"

    await folded(db, of_days(7, weekly, first=sunday))
    [(words, confidence)] = await learned(db, sunday + 1)
    assert words.startswith("The http check is slow from 03:00 to 03:10 UTC on Sundays: 9")
    assert words.endswith(" instead of 100 ms (4 of 4 days)")
    for day in range(2, 8):
        assert await learned(db, sunday + day) == [(words, confidence)], "no news"

    await folded(db, of_days(1, lambda d, m: 110.0, first=sunday + 7))
    [(words, weaker)] = await learned(db, sunday + 8)
    assert weaker < confidence


async def test_failed_learning_of_one_check_is_an_event_and_stops_no_other(
    db: Database, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("web", "api"):
        await folded(db, of_days(6, backup), name=name)
    both = Services((*SERVICES, replace(SERVICES.items[0], name="api")))
    assert await learn_hours(context(db, MIDNIGHT + 6 * DAY), both) == 2
    async with writing(db):
        damaged = learned_facts.c.memory_id == 1
        await db.execute(sa.update(learned_facts).where(damaged).values(seconds=[]))
    for name in ("web", "api"):
        await folded(db, of_days(1, backup, first=6), name=name)
    assert await learn_hours(context(db, MIDNIGHT + 7 * DAY), both) == 1

    [event] = (await events.page(db, EventSelection(), limit=9)).items
    assert (event.service, event.level) == ("web", Level.WARNING)
    assert event.text == "Slow hours of http were not learned: IndexError"
    assert event.text in caplog.text
