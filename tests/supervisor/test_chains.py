"""Chains through the real supervisor: real engines, one after the other, on a real database."""

import asyncio
import json
import random
import shlex
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from homes import Home

import direct_writes
from contexts import changed, session_context
from lamplighter import clock
from lamplighter.domain.services.service import Service, Services
from lamplighter.domain.sessions.session import SessionPlan, Status, Trigger
from lamplighter.engines.exec import ExecEngine
from lamplighter.repository import Database, writing
from lamplighter.repository.sessions import requests
from lamplighter.repository.store import tables
from lamplighter.supervisor.daemon import Supervisor
from lamplighter.supervisor.lease import Lock
from lamplighter.supervisor.run import runner

ENGINE = Path(__file__).parents[1] / "fakes" / "chain_engine.py"
SERVICES = Services((Service(name="Web"), Service(name="db"), Service(name="caddy")), path="here")
NAMES = ["Web", "web", "db", "caddy", "plex"]
CHAINS = 30
FINAL = {"completed", "failed", "timed_out", "escalated", "stopped", "interrupted"}


def refused(*services: str, **more: Any) -> dict[str, Any]:
    """Return the plan of a session that escalates these services."""
    return {"says": [f"[ESCALATE:{name}] refused" for name in services], **more}


@dataclass
class Leading:
    """A supervisor that is the leader, with an engine that follows a plan for each tier."""

    supervisor: Supervisor
    script: Path

    @property
    def db(self) -> Database:
        return self.supervisor.db

    async def make_round(self, plan: dict[int, dict[str, Any]], **more: Any) -> None:
        """Let the supervisor process a request for a chain whose sessions follow the plan."""
        self.script.write_text(json.dumps(plan))
        async with writing(self.db):
            asked = SessionPlan(trigger=Trigger.MANUAL, **more)
            await requests.insert(self.db, asked, engine="exec", now=clock.now())
        assert await self.supervisor.step()

    def allow(self, max_tier: int) -> None:
        self.supervisor.context = changed(self.supervisor.context, max_tier=max_tier)

    async def rows(self, table: str) -> list[dict[str, Any]]:
        found = getattr(tables, table)
        return [dict(row) for row in await self.db.fetch_all(found.select().order_by(found.c.id))]

    async def sessions(self) -> list[tuple[int, str, int | None]]:
        return [
            (row["tier"], row["status"], row["parent_id"]) for row in await self.rows("sessions")
        ]

    async def states(self) -> list[tuple[str, str]]:
        return [(row["service"], row["state"]) for row in await self.rows("escalations")]

    async def events(self, source: str = "supervisor") -> list[tuple[str, str]]:
        return [
            (row["level"], row["text"])
            for row in await self.rows("events")
            if row["source"] == source
        ]


@pytest.fixture
async def leading(db: Database, tmp_path: Path) -> AsyncIterator[Leading]:
    script = tmp_path / "plan.json"
    command = shlex.join([sys.executable, "-S", str(ENGINE), str(script)])
    here = session_context(db, tmp_path, engines={"exec": ExecEngine(command)})
    lock = Lock(tmp_path / "lock")
    supervisor = Supervisor(here, lambda: SERVICES, lock)
    assert await supervisor.lead()
    yield Leading(supervisor, script)
    await supervisor.step_down()


async def test_repeated_escalation_ends_with_a_person(leading: Leading) -> None:
    await leading.make_round({1: refused("web", "WEB"), 2: refused("db"), 3: refused("db")})

    assert await leading.sessions() == [
        (1, "escalated", None),
        (2, "escalated", 1),
        (3, "completed", 2),
    ]
    assert await leading.states() == [("Web", "taken"), ("db", "taken"), ("db", "person")]
    told = await leading.events("marker")
    assert told[-1] == ("critical", "Needs a person: refused")
    assert [row["services"] for row in await leading.rows("sessions")] == [None, ["Web"], ["db"]]


async def test_failed_session_drops_its_escalations(leading: Leading) -> None:
    await leading.make_round({1: refused("web"), 2: refused("web", exit=3)})

    assert await leading.sessions() == [(1, "escalated", None), (2, "failed", 1)]
    assert await leading.states() == [("Web", "taken"), ("Web", "dropped")]


async def test_dry_run_starts_no_session_of_the_next_tier(leading: Leading) -> None:
    await leading.make_round({1: refused("web", "db")}, dry_run=True)

    assert await leading.sessions() == [(1, "completed", None)]
    assert await leading.states() == [("Web", "dry"), ("db", "dry")]
    assert [level for level, _ in await leading.events()] == ["info", "info"]


@pytest.mark.parametrize("max_tier", [1, 2])
async def test_highest_allowed_tier_escalates_to_a_person(leading: Leading, max_tier: int) -> None:
    leading.allow(max_tier)

    await leading.make_round({tier: refused("web") for tier in (1, 2, 3)})

    assert [tier for tier, _, _ in await leading.sessions()] == [1, 2][:max_tier]
    assert (await leading.states())[-1] == ("Web", "person")
    told = await leading.events("marker")
    assert [text for level, text in told if level == "critical"] == ["Needs a person: refused"]


async def test_missing_engine_ends_the_chain(leading: Leading) -> None:
    gone = {**leading.supervisor.context.engines}
    leading.supervisor.context = replace(leading.supervisor.context, engines=gone)
    first = leading.supervisor.context.engines["exec"]

    class Going:
        name = "exec"
        traits = first.traits
        asked = 0

        def probe(self) -> str | None:
            self.asked += 1
            return "it is gone" if self.asked > 1 else None

        command = staticmethod(first.command)

    gone["exec"] = Going()

    await leading.make_round({1: refused("web"), 2: refused("web")})

    rows = await leading.rows("sessions")
    assert [(row["status"], row["reason"]) for row in rows] == [
        ("escalated", "Escalated Web to tier 2."),
        ("failed", "it is gone"),
    ]


async def test_drained_supervisor_drops_escalations_and_reports_it(leading: Leading) -> None:
    class Draining(ExecEngine):
        def command(self, task: Any) -> Any:
            leading.supervisor.drain()
            return super().command(task)

    command = shlex.join([sys.executable, "-S", str(ENGINE), str(leading.script)])
    engines = {"exec": Draining(command)}
    leading.supervisor.context = replace(leading.supervisor.context, engines=engines)

    await leading.make_round({1: refused("web")})

    assert await leading.sessions() == [(1, "escalated", None)]
    assert await leading.states() == [("Web", "dropped")]
    why = "the supervisor was stopped"
    assert await leading.events() == [
        ("warning", f"Not escalated to tier 2, {why}. The next round checks again.")
    ]


def some_plan(chance: random.Random) -> dict[int, dict[str, Any]]:
    """Return a plan for each tier: it escalates in most cases, and sometimes fails."""
    ends = [{}] * 12 + [{"exit": 3}, {"result": False}, {"error": True}]
    return {
        tier: refused(*chance.sample(NAMES, chance.choice((0, 1, 1, 2))), **chance.choice(ends))
        for tier in (1, 2, 3)
    }


async def test_random_chains_escalate_one_tier_at_a_time(leading: Leading) -> None:
    chance = random.Random(2026)
    for _ in range(CHAINS):
        leading.allow(chance.choice((1, 2, 3, 3)))
        dry = chance.random() < 0.3
        before = len(await leading.rows("sessions"))
        await leading.make_round(some_plan(chance), dry_run=dry)

        made = (await leading.rows("sessions"))[before:]
        assert [row["tier"] for row in made] == list(range(1, len(made) + 1))
        parents = [None, *(row["id"] for row in made)][: len(made)]
        assert [row["parent_id"] for row in made] == parents
        assert [row["status"] for row in made[:-1]] == ["escalated"] * (len(made) - 1)
        assert made[-1]["status"] in FINAL - {"escalated", "running"}
        assert len(made) <= (1 if dry else leading.supervisor.context.active.max_tier)
        assert all(row["reason"] for row in made if row["status"] != Status.COMPLETED)

    everything = await leading.rows("sessions")
    wishes = await leading.rows("escalations")
    assert len(everything) > CHAINS
    assert {row["status"] for row in everything} <= FINAL
    assert not [row for row in wishes if row["state"] in ("open", "accepted")]
    assert {row["state"] for row in wishes} == {"taken", "dropped", "dry", "person"}
    pairs = [(row["session_id"], row["service"]) for row in wishes]
    assert len(pairs) == len(set(pairs))
    parents_of = {row["id"]: row["parent_id"] for row in everything}
    for row in wishes:
        child = row["child_id"]
        assert (child is not None) == (row["state"] == "taken")
        assert child is None or parents_of[child] == row["session_id"]


async def test_undeclared_service_starts_no_session_of_the_next_tier(leading: Leading) -> None:
    await leading.make_round({1: refused("cady"), 2: refused("web")})

    assert await leading.sessions() == [(1, "completed", None)]
    problem = "service cady not found; did you mean caddy?"
    assert await leading.events() == [("warning", f"Not escalated: {problem}")]


async def test_next_leader_drops_escalations_of_a_crashed_supervisor(
    leading: Leading,
) -> None:
    leading.script.write_text(json.dumps({1: refused("web")}))
    dead = leading.supervisor
    parent = await runner.run(dead.context, SessionPlan(engine="exec"), SERVICES)
    before = await leading.states()
    await dead.lock.release()

    following = replace(dead, context=replace(dead.context, epoch=0))
    assert await following.lead()

    why = "the supervisor ended before the next session started"
    assert (parent.status, before) == (Status.ESCALATED, [("Web", "accepted")])
    assert await leading.states() == [("Web", "dropped")]
    assert await leading.events() == [
        ("warning", f"Not escalated to tier 2, {why}. The next round checks again.")
    ]
    assert await leading.sessions() == [(1, "escalated", None)]


def test_session_of_a_killed_supervisor_drops_its_escalations(home: Home, tmp_path: Path) -> None:
    script = tmp_path / "plan.json"
    script.write_text(json.dumps({1: refused("web"), 2: refused("web", pause=60)}))
    home.env["LAMPLIGHTER_ENGINE"] = "exec"
    home.env["LAMPLIGHTER_EXEC_COMMAND"] = shlex.join([sys.executable, str(ENGINE), str(script)])
    supervisor = home.start("supervisor")
    home.until(lambda: home.value("SELECT count(*) FROM escalations WHERE session_id = 2"))

    supervisor.send_signal(signal.SIGKILL)
    supervisor.wait()
    script.write_text(json.dumps({1: {"says": ["[EVENT:info] here"]}}))
    home.start("supervisor")
    home.until(lambda: home.value("SELECT count(*) FROM events WHERE text = 'here'"))

    assert home.rows("SELECT state, why, child_id FROM escalations ORDER BY id") == [
        ("taken", "", 2),
        ("dropped", "its session interrupted", None),
    ]
    statuses = home.rows("SELECT tier, status FROM sessions WHERE id < 3 ORDER BY id")
    assert statuses == [(1, "escalated"), (2, "interrupted")]
    assert home.until(lambda: not home.left_over())


async def test_session_runs_after_a_temporary_database_error_at_its_start(
    leading: Leading, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A failure between a session's opening and its engine must not leave the session open."""
    leading.script.write_text(json.dumps({1: {"says": ["[EVENT:info] here"]}}))
    direct_writes.run(url, "ALTER TABLE findings RENAME TO away")

    running = asyncio.create_task(
        runner.run(leading.supervisor.context, SessionPlan(engine="exec"), SERVICES)
    )
    async with asyncio.timeout(30):
        while "retrying" not in caplog.text:  # noqa: ASYNC110 - it logs, and tells nobody
            await asyncio.sleep(0.01)
    opened = await leading.sessions()
    direct_writes.run(url, "ALTER TABLE away RENAME TO findings")
    ended = await asyncio.wait_for(running, 30)

    assert opened == [(1, "running", None)]
    assert ended.status is Status.COMPLETED


async def test_supervisor_deposed_during_takeover_returns_to_standby(
    leading: Leading, url: str
) -> None:
    """Another supervisor may take over between acquiring the lock and the first write."""
    first = leading.supervisor
    await runner.run(first.context, SessionPlan(engine="exec"), SERVICES)
    await first.lock.release()
    direct_writes.run(url, "UPDATE sessions SET status = 'running', ended_at = NULL")
    direct_writes.run(
        url,
        "CREATE TRIGGER takes AFTER UPDATE OF epoch ON leases WHEN new.epoch = old.epoch + 1"
        " AND (SELECT count(*) FROM leases WHERE epoch > 3) = 0"
        " BEGIN UPDATE leases SET epoch = new.epoch + 1; END",
    )
    second = replace(first, context=replace(first.context, epoch=0))

    running = asyncio.create_task(second.run(Never()))
    try:
        async with asyncio.timeout(30):
            while (await leading.rows("leases"))[0]["epoch"] < 4:  # noqa: ASYNC110 - it retries
                await asyncio.sleep(0.05)
        assert not running.done(), "it must not end"
    finally:
        second.drain()
        await asyncio.wait_for(running, 30)
        second.db.fence = None


class Never:
    """A notifier that wakes nothing."""

    def wake(self) -> None: ...

    def version(self) -> int:
        return 0

    async def wait(self, seconds: float) -> bool:
        await asyncio.sleep(seconds)
        return False
