"""The overview: sessions, their cost, and learned memories, each with correct figures."""

from datetime import timedelta

import sqlalchemy as sa
from examples import NOON, believed, said, session

from lamplighter.domain.services.service import Service, Services
from lamplighter.domain.sessions.session import CheckResult, Status
from lamplighter.repository import Database, writing
from lamplighter.repository.services import checks
from lamplighter.repository.store import tables
from lamplighter.repository.upkeep import statistics
from lamplighter.usecases.sessions.statistics import RunSpending
from lamplighter.usecases.system import overview

DAY = timedelta(days=1)


async def ran(db: Database, *, tier: int = 1, days: int = 0, **more: object) -> None:
    opened = await session(db, tier=tier)
    values = {"status": "completed", "started_at": NOON - days * DAY, **more}
    of = tables.sessions.c.id == opened.id
    async with writing(db):
        await db.execute(sa.update(tables.sessions).where(of).values(**values))


async def test_sessions_are_counted_by_day_tier_and_status(db: Database) -> None:
    await ran(db)
    await ran(db, status="failed")
    await ran(db, tier=2, days=29)
    await ran(db, tier=3, days=30)

    found = (await overview.overview(db, Services(), start=NOON - DAY, now=NOON)).run

    assert len(found.days) == 30
    assert found.days[-1] == (NOON.date(), {1: 2, 2: 0, 3: 0})
    assert found.days[0] == (NOON.date() - 29 * DAY, {1: 0, 2: 1, 3: 0})
    assert found.ended == {
        1: {Status.COMPLETED: 1, Status.FAILED: 1},
        2: {Status.COMPLETED: 1},
        3: {},
    }


async def test_unreported_values_are_not_zero(db: Database) -> None:
    late = NOON + 20 * DAY
    await ran(db)
    before = await overview.overview(db, Services(), start=NOON, now=late)
    await ran(db, days=-20, cost_usd=0.25, turns=3)
    await ran(db, days=-3, cost_usd=0.5, turns=4)
    await ran(db, days=1, cost_usd=64.0, turns=900)  # last month

    after = await overview.overview(db, Services(), start=NOON, now=late)

    assert (before.run.today, before.run.month) == (
        RunSpending(None, None),
        RunSpending(None, None),
    )
    assert (after.run.today, after.run.month) == (RunSpending(3, 0.25), RunSpending(7, 0.75))


async def test_many_changes_of_one_cause_do_not_hide_the_others(db: Database) -> None:
    by = await session(db)
    await believed(db, by, observation="Needs the network")
    for number in range(9):
        await said(db, await session(db), observation="Needs the network", now=NOON + number * DAY)

    found = await overview.overview(db, Services(), start=NOON - DAY, now=NOON + 9 * DAY)

    causes = [each.cause for each in found.activity.changes]
    assert (causes.count("reinforced"), causes.count("learned")) == (5, 1)
    assert found.activity.causes["reinforced"] == 9


async def test_learned_memories_are_listed_in_pages(db: Database) -> None:
    for number in range(3):
        await believed(db, await session(db), observation=f"Fact number {number}")

    first = await statistics.page(db, ["learned"], start=NOON, limit=2)
    rest = await statistics.page(db, ["learned"], start=NOON, limit=2, position=first.position)

    said_so = [each.memory.observation[-1] for each in [*first.items, *rest.items]]
    assert (said_so, rest.position) == (["2", "1", "0"], None)
    assert (await statistics.page(db, ["faded"], start=NOON, limit=2)).items == []


async def test_each_service_has_its_last_days_and_its_active_memories(db: Database) -> None:
    by = await session(db)
    for observation in ("Needs the network", "Starts in 9 s"):
        await believed(db, by, observation=observation, service="Web's")
    async with writing(db):
        for name, days, ok in (("Web's", 29, True), ("Web's", 1, False), ("gone", 1, True)):
            result = CheckResult(service=name, name="http", kind="http", ok=ok, warned=True)
            for at in (NOON - days * DAY, NOON - 30 * DAY, NOON + DAY):
                await checks.insert(db, by.id, result, now=at)
    services = Services((Service(name="new"), Service(name="Web's")))

    new, web = await overview.service_conditions(db, [*services], services, now=NOON)

    assert (new.memories, web.memories) == (0, 2)
    assert {(day.checks, day.failed, day.warned) for day in new.strip} == {(0, 0, 0)}
    assert [day.day for day in web.strip] == [day.day for day in new.strip]
    counted = {day.day: (day.failed, day.warned) for day in web.strip if day.checks}
    assert counted == {"2025-12-03": (0, 1), "2025-12-31": (1, 0)}
    for strip in (0, 2, 30):
        few = await overview.service_conditions(db, [*services], services, now=NOON, strip=strip)
        whole = await overview.overview(db, services, start=NOON, now=NOON, strip=strip)
        assert [each.strip for each in few] == [each.strip[30 - strip :] for each in (new, web)]
        assert whole.conditions == tuple(few)
