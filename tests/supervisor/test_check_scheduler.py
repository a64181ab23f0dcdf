"""The check scheduler in the test's own process, with a real check process."""

import asyncio
import time
from dataclasses import replace
from datetime import timedelta

import pytest

from contexts import OPEN
from lamplighter import clock
from lamplighter.domain.errors import LeadershipLost
from lamplighter.domain.services.check import Check, TcpCheck
from lamplighter.domain.services.series import (
    BUCKET,
    DAY,
    Aggregate,
    CheckRun,
    PointState,
    SeriesResolution,
    span_start,
)
from lamplighter.domain.services.service import Service, Services
from lamplighter.engines.checker import CheckReport
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import memories
from lamplighter.repository.services import events, series
from lamplighter.repository.services.events import EventSelection
from lamplighter.repository.store.driver import OperationalError
from lamplighter.supervisor.checks.process import CheckProcesses
from lamplighter.supervisor.checks.scheduler import CheckScheduler
from lamplighter.usecases.context import Context
from lamplighter.usecases.services.incidents import advise
from lamplighter.usecases.sessions.halt import HaltControl

CLOSED = TcpCheck(name="tcp", host="127.0.0.1", port=1, retries=0, interval=1.0)
SECOND = timedelta(seconds=1)
SERVICES = Services((Service(name="db", checks=(CLOSED,)),))


def scheduler(db: Database) -> CheckScheduler:
    here = Context(db=db, now=clock.now, redact=OPEN)
    return CheckScheduler(here, lambda: SERVICES, HaltControl())


async def test_replaced_leader_stops_its_checks(db: Database) -> None:
    async def refuse() -> None:
        raise LeadershipLost("Another supervisor leads.")

    db.fence = refuse

    with pytest.raises(LeadershipLost, match="Another supervisor leads"):
        await asyncio.wait_for(scheduler(db).run(), 60)


async def test_check_results_are_buffered_while_the_database_is_unavailable(db: Database) -> None:
    refused = 0

    async def refuse() -> None:
        nonlocal refused
        refused += 1
        if refused <= 2:
            raise OperationalError("database is locked")

    db.fence = refuse
    running = asyncio.create_task(scheduler(db).run())
    began = time.monotonic()
    while not (found := await series.failing(db)) or found[0].streak < 3:
        assert time.monotonic() - began < 60
        await asyncio.sleep(0.1)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)

    assert refused > 2
    assert found[0].state is PointState.FAILED


async def test_check_now_runs_a_check_at_most_once_a_second(db: Database) -> None:
    ran = []

    class Fast(CheckProcesses):
        async def run(self, check: Check, due: float) -> CheckReport:
            ran.append(time.monotonic())
            return CheckReport(len(ran), due)

    running = scheduler(db)
    running.processes = Fast()
    await running.step(time.monotonic())
    for _ in range(5):
        running.check_now({"db"})
        await asyncio.sleep(0.1)
    await running._stop()
    assert len(ran) == 1


async def test_interval_of_0_disables_checks_until_it_changes(db: Database) -> None:
    usual = replace(CLOSED, interval=None)
    here = Context(db=db, now=clock.now, redact=OPEN)
    services = Services((Service(name="db", checks=(usual,)),))
    found = CheckScheduler(here, lambda: services, HaltControl(), 0.0)
    assert await found.step(10_000.0) == 0

    found.interval = 30.0
    await found.step(10_000.0)

    assert [await found.step(at) for at in (10_031.0, 10_032.0)] == [1, 0]
    found.interval = 0.0
    assert await found.step(20_000.0) == 0
    await found._stop()


async def test_changed_declaration_is_recorded_as_an_event_of_its_service(db: Database) -> None:
    running = scheduler(db)
    declared = [
        SERVICES,
        Services((replace(SERVICES.items[0], checks=(replace(CLOSED, port=2),)),)),
    ]
    running.load = lambda: declared[0]
    for _ in range(2):
        await running.step(0.0)
    assert (await events.page(db, EventSelection(), limit=9)).items == []

    del declared[0]
    for _ in range(2):
        await running.step(0.0)
    [event] = (await events.page(db, EventSelection(), limit=9)).items
    assert (event.service, event.change) == ("db", "declaration change")

    declared.insert(0, SERVICES)  # changed back while no supervisor ran
    again = scheduler(db)
    again.load = lambda: declared[0]
    for _ in range(2):
        await again.step(0.0)
    found = (await events.page(db, EventSelection(), limit=9)).items
    assert [each.change for each in found] == ["declaration change"] * 2


async def test_new_lamplighter_version_is_not_a_changed_declaration(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await scheduler(db).step(0.0)
    monkeypatch.setattr(advise, "__version__", "0.0.1")
    running = scheduler(db)
    other = replace(SERVICES.items[0], description="the same")
    running.load = lambda: Services((replace(other, checks=(replace(CLOSED, port=2),)),))
    await running.step(0.0)
    assert (await events.page(db, EventSelection(), limit=9)).items == []


async def test_slow_hours_are_learned_once_a_day_after_midnight(db: Database) -> None:
    midnight = span_start(clock.now(), DAY)
    async with writing(db):
        run = CheckRun(service="db", check="tcp", kind="tcp", at=midnight, state=PointState.PASSED)
        held = await series.create(db, run)
        found = [
            Aggregate(
                at=midnight - (day + 1) * DAY + time_ * BUCKET,
                count=5,
                failures=0,
                warnings=0,
                p50_ms=900.0 if 36 <= time_ < 38 else 100.0,
            )
            for day in range(5)
            for time_ in range(DAY // BUCKET)
        ]
        await series.fold(db, SeriesResolution.FINE, {held.id: found}, to=midnight)
    moments = [midnight + 30 * SECOND, midnight + 300 * SECOND]
    running = scheduler(db)
    running.here = Context(db=db, now=lambda: moments[0], redact=OPEN)
    await running.step(0.0)

    await running.learn_hours()
    assert await memories.list_by_ids(db, [1]) == []
    del moments[0]
    await running.learn_hours()
    [memory] = await memories.list_by_ids(db, [1])
    assert memory.observation.startswith("The tcp check is slow from 03:00 to 03:10 UTC")
