"""One request to a person is enough until the person or the service acts, with each engine."""

import json
import shlex
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from contexts import changed, context, session_context
from lamplighter import clock
from lamplighter.domain.services.series import CheckRun, PointState
from lamplighter.domain.services.service import Action, ActionKind, Service, Services
from lamplighter.domain.sessions.session import SessionPlan, Status, Trigger
from lamplighter.engines.exec import ExecEngine
from lamplighter.repository import Database, writing
from lamplighter.repository.sessions import requests
from lamplighter.repository.store import tables
from lamplighter.supervisor.daemon import Supervisor
from lamplighter.supervisor.lease import Lock
from lamplighter.usecases.services import check_runs
from lamplighter.usecases.sessions import chain

ENGINE = Path(__file__).parents[1] / "fakes" / "chain_engine.py"
RESTART = Action(name="restart", kind=ActionKind.RESTART, argv=("/bin/true",))
SERVICES = Services(
    (
        Service(name="Web", depends_on=("db",)),
        Service(name="db"),
        Service(name="disk"),
        Service(name="blog", actions=(RESTART,)),
    ),
    path="here",
)
HOURS = timedelta(hours=1)


def escalates(*services: str, why: str = "refused") -> dict[str, Any]:
    return {"says": [f"[ESCALATE:{name}] {why}" for name in services]}


@dataclass
class Leading:
    """A supervisor that is the leader, with an engine that prints its plan for each tier."""

    supervisor: Supervisor
    script: Path
    late: timedelta = timedelta()

    @property
    def db(self) -> Database:
        return self.supervisor.db

    def now(self) -> datetime:
        return clock.now() + self.late

    async def make_round(self, plan: dict[int, dict[str, Any]], **more: Any) -> list[int]:
        """Run a round whose sessions follow the plan; return the tiers that ran."""
        before = len(await self.rows("sessions"))
        self.script.write_text(json.dumps(plan))
        async with writing(self.db):
            asked = SessionPlan(trigger=Trigger.MANUAL, **more)
            await requests.insert(self.db, asked, engine="exec", now=self.now())
        assert await self.supervisor.step()
        return [row["tier"] for row in (await self.rows("sessions"))[before:]]

    async def rows(self, table: str) -> list[dict[str, Any]]:
        found = getattr(tables, table)
        return [dict(row) for row in await self.db.fetch_all(found.select().order_by(found.c.id))]

    async def texts(self) -> list[tuple[str, str]]:
        """Return the events about suppressed escalations, without their times."""
        return [
            (row["level"], row["text"].split(" at ")[0] + ":" + row["text"].rsplit(":", 1)[1])
            for row in await self.rows("events")
            if row["text"].startswith("Escalation held back")
        ]


@pytest.fixture(params=["sqlite", "postgres_url"], ids=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    """Return the address of a new database, on SQLite or PostgreSQL."""
    return str(request.getfixturevalue(request.param))


@pytest.fixture
async def leading(db: Database, tmp_path: Path) -> AsyncIterator[Leading]:
    script = tmp_path / "plan.json"
    command = shlex.join([sys.executable, "-S", str(ENGINE), str(script)])
    here = session_context(db, tmp_path, engines={"exec": ExecEngine(command)})
    lock = Lock(tmp_path / "lock")
    supervisor = Supervisor(here, lambda: SERVICES, lock)
    found = Leading(supervisor, script)
    supervisor.context = replace(here, now=found.now)
    assert await supervisor.lead()
    yield found
    await supervisor.step_down()


async def test_repeated_escalations_open_one_chain(leading: Leading) -> None:
    every = {tier: escalates("disk") for tier in (1, 2, 3)}

    assert await leading.make_round(every) == [1, 2, 3]
    for _ in range(3):
        assert await leading.make_round(every) == [1]

    people = [row for row in await leading.rows("escalations") if row["state"] == "person"]
    assert len(people) == 1
    alarms = [row for row in await leading.rows("events") if row["level"] == "critical"]
    assert [row["text"] for row in alarms] == ["Needs a person: refused"]
    assert await leading.texts() == [
        ("warning", "Escalation held back, a person was notified: refused")
    ], "the same words are one event while nothing changes"
    marks = [row for row in await leading.rows("markers") if row["outcome"] == "held back"]
    assert len(marks) == 3
    assert all(
        row["reason"].startswith("not escalated: a person was notified at ") for row in marks
    )
    assert {row["status"] for row in await leading.rows("sessions")} == {"escalated", "completed"}


async def test_each_new_reason_of_an_escalation_is_a_separate_event(leading: Leading) -> None:
    await leading.make_round({tier: escalates("disk") for tier in (1, 2, 3)})

    assert await leading.make_round({1: escalates("disk", why="97 % full")}) == [1]
    assert await leading.make_round({1: escalates("disk", why="98 % full")}) == [1]

    assert [text.rsplit(": ", 1)[1] for _, text in await leading.texts()] == [
        "97 % full",
        "98 % full",
    ]


async def test_highest_tier_notifies_a_person_once(leading: Leading) -> None:
    leading.supervisor.context = changed(leading.supervisor.context, max_tier=1)

    for _ in range(3):
        assert await leading.make_round({1: escalates("disk")}) == [1]

    alarms = [row["text"] for row in await leading.rows("events") if row["level"] == "critical"]
    assert alarms == ["Needs a person: refused"]


async def test_other_services_escalate_to_the_next_tier(leading: Leading) -> None:
    await leading.make_round({tier: escalates("disk") for tier in (1, 2, 3)})

    assert await leading.make_round({1: escalates("disk", "blog")}) == [1, 2]
    [*_, last] = await leading.rows("sessions")
    assert last["services"] == ["blog"]


async def test_escalation_is_held_back_while_a_dependency_waits_for_a_person(
    leading: Leading,
) -> None:
    await leading.make_round({1: escalates("db"), 2: escalates("db"), 3: escalates("db")})

    assert await leading.make_round({1: escalates("web")}) == [1]
    assert await leading.texts() == [
        ("warning", "Escalation held back, a person was notified for db: refused")
    ]


async def test_recovered_dependency_holds_back_no_escalation(leading: Leading) -> None:
    await leading.make_round({1: escalates("db"), 2: escalates("db"), 3: escalates("db")})
    for seconds in (0, 1):
        at = leading.now() + timedelta(seconds=seconds)
        run = CheckRun(service="db", check="tcp", kind="tcp", at=at, state=PointState.PASSED)
        await check_runs.record(context(leading.db, at), [run], Services())

    assert await leading.make_round({1: escalates("web")}) == [1, 2]


async def test_escalation_resumes_after_it_was_marked_as_handled(leading: Leading) -> None:
    await leading.make_round({tier: escalates("disk") for tier in (1, 2, 3)})
    [asked] = [row for row in await leading.rows("escalations") if row["state"] == "person"]
    assert await leading.make_round({1: escalates("disk")}) == [1]

    await chain.mark_handled(leading.db, asked["id"], now=leading.now())

    assert await leading.make_round({1: escalates("disk")}) == [1, 2]


async def test_unanswered_escalation_is_repeated_after_a_day(leading: Leading) -> None:
    await leading.make_round({tier: escalates("disk") for tier in (1, 2, 3)})
    leading.late = 23 * HOURS
    assert await leading.make_round({1: escalates("disk")}) == [1]

    leading.late = 24 * HOURS + timedelta(minutes=1)

    assert await leading.make_round({tier: escalates("disk") for tier in (1, 2, 3)}) == [1, 2, 3]


async def test_service_with_a_free_action_is_escalated_again(leading: Leading) -> None:
    every = {tier: escalates("blog") for tier in (1, 2, 3)}
    await leading.make_round(every)

    assert await leading.make_round(every) == [1, 2, 3], "its restart was not used"


async def test_dry_run_escalation_is_held_back(leading: Leading) -> None:
    await leading.make_round({tier: escalates("disk") for tier in (1, 2, 3)})

    assert await leading.make_round({1: escalates("disk")}, dry_run=True) == [1]

    assert [row["state"] for row in await leading.rows("escalations")][-1] == "person"
    assert (await leading.rows("sessions"))[-1]["status"] == Status.COMPLETED
