"""The check scheduler in the test's own process, with a real check process."""

import asyncio
import time
from dataclasses import replace

import pytest

from contexts import OPEN
from lamplighter import clock
from lamplighter.domain.errors import LeadershipLost
from lamplighter.domain.services.check import TcpCheck
from lamplighter.domain.services.series import PointState
from lamplighter.domain.services.service import Service, Services
from lamplighter.repository import Database
from lamplighter.repository.services import series
from lamplighter.repository.store.driver import OperationalError
from lamplighter.supervisor.checks.scheduler import CheckScheduler
from lamplighter.usecases.context import Context
from lamplighter.usecases.sessions.halt import HaltControl

CLOSED = TcpCheck(name="tcp", host="127.0.0.1", port=1, retries=0, interval=1.0)
SERVICES = Services((Service(name="db", checks=(CLOSED,)),))


def scheduler(db: Database) -> CheckScheduler:
    here = Context(db=db, now=clock.now, redact=OPEN)
    return CheckScheduler(here, lambda: SERVICES, HaltControl())


async def test_a_replaced_leader_stops_its_checks(db: Database) -> None:
    async def refuse() -> None:
        raise LeadershipLost("Another supervisor leads.")

    db.fence = refuse

    with pytest.raises(LeadershipLost, match="Another supervisor leads"):
        await asyncio.wait_for(scheduler(db).run(), 60)


async def test_results_wait_in_memory_while_the_database_takes_none(db: Database) -> None:
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


async def test_an_interval_of_0_runs_no_checks_until_it_changes(db: Database) -> None:
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
