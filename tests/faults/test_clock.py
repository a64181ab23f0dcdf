"""Clock changes: decay waits, rounds use a monotonic clock, and cooldowns stay safe."""

import json
import shlex
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from contexts import session_context
from lamplighter.domain.memory.memory import Candidate, Category
from lamplighter.domain.services.cooldown import CooldownUse, UseOutcome, cooldown_status
from lamplighter.domain.services.service import ActionKind, Service, Services
from lamplighter.domain.sessions.session import SessionPlan, Status
from lamplighter.engines.exec import ExecEngine
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import memories
from lamplighter.repository.store import tables
from lamplighter.supervisor.clock_watch import ClockWatch
from lamplighter.supervisor.daemon import Supervisor
from lamplighter.supervisor.lease import Lock
from living import result, text

SAID = Path(__file__).parents[1] / "fakes" / "scripted.py"
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
KNOWN = Services((Service(name="jellyfin"),), path="here")
SLOW_START = Candidate(
    category=Category.TIMING,
    service="jellyfin",
    observation="Takes 60s to start",
    tier=1,
    session_id=None,
)


@dataclass
class Clocks:
    """The time of day, which a test can set, and the elapsed time, which it cannot."""

    now: datetime = NOON
    passed: timedelta = timedelta()
    jitter: timedelta = timedelta()

    def read(self) -> datetime:
        self.jitter = -self.jitter
        return self.now + self.jitter

    def go(self, by: timedelta) -> None:
        self.now, self.passed = self.now + by, self.passed + by

    def set(self, by: timedelta) -> None:
        self.now += by


@dataclass
class Leading:
    """A supervisor that is the leader and uses these clocks; its engine prints one text."""

    supervisor: Supervisor
    clocks: Clocks
    script: Path

    async def session(self, words: str = "") -> None:
        """Let the supervisor run a round that is due."""
        lines = [text(words), result()]
        self.script.write_text("".join(json.dumps(line) + "\n" for line in lines))
        self.supervisor._due = 0
        assert await self.supervisor.step()

    async def believed(self) -> list[tuple[float, int]]:
        query = tables.memories.select().order_by(tables.memories.c.id)
        rows = await self.supervisor.db.fetch_all(query)
        return [(row["confidence"], row["decayed_weeks"]) for row in rows]

    async def sessions(self) -> list[dict[str, Any]]:
        query = tables.sessions.select().order_by(tables.sessions.c.id)
        return [dict(row) for row in await self.supervisor.db.fetch_all(query)]


@pytest.fixture
async def leading(db: Database, tmp_path: Path) -> AsyncIterator[Leading]:
    clocks, script = Clocks(), tmp_path / "script.jsonl"
    command = shlex.join([sys.executable, "-S", str(SAID), str(script)])
    here = session_context(
        db,
        tmp_path,
        engines={"exec": ExecEngine(command)},
        now=clocks.read,
        timepiece=ClockWatch(lambda: clocks.passed.total_seconds()),
    )
    async with writing(db):
        for number in range(3):
            await memories.insert(db, replace(SLOW_START, observation=f"Fact {number}"), now=NOON)
    supervisor = Supervisor(here, lambda: KNOWN, Lock(tmp_path / "lock"))
    assert await supervisor.lead()
    yield Leading(supervisor, clocks, script)
    await supervisor.step_down()


async def test_memories_decay_after_real_time_has_passed(leading: Leading) -> None:
    await leading.session()
    leading.clocks.go(44 * DAY)
    await leading.session()

    assert await leading.believed() == [(0.5, 2)] * 3


@pytest.mark.parametrize("by", [40 * DAY, 4_000 * DAY, -40 * DAY, -4_000 * DAY])
async def test_a_reverted_clock_change_costs_no_confidence(leading: Leading, by: timedelta) -> None:
    await leading.session()
    leading.clocks.go(HOUR)
    leading.clocks.set(by)
    for _ in range(3):
        await leading.session("[MEMORY:timing:jellyfin] Fact 1")
        leading.clocks.go(HOUR)
    leading.clocks.set(-by)
    for _ in range(30):
        leading.clocks.go(HOUR)
    await leading.session()

    kept = await leading.believed()
    assert [weeks for _, weeks in kept] == [0] * 3, kept
    assert min(confidence for confidence, _ in kept) == 0.7, kept
    ended = await leading.sessions()
    assert [each["status"] for each in ended] == [Status.COMPLETED] * 5
    assert all(each["duration_ms"] >= 0 for each in ended)


async def test_a_clock_jump_during_a_session_costs_no_confidence(leading: Leading) -> None:
    await leading.session()
    leading.clocks.go(HOUR)
    steady, looks = leading.supervisor.context.now, 0

    def later() -> datetime:
        nonlocal looks
        looks += 1
        return steady() + (40 * DAY if looks > 4 else timedelta())

    leading.supervisor.context = replace(leading.supervisor.context, now=later)
    await leading.session("[MEMORY:timing:jellyfin] Fact 1")

    assert looks > 4, "the jump never came: the test shows nothing"
    assert [weeks for _, weeks in await leading.believed()] == [0] * 3


async def test_after_a_correction_of_the_clock_decay_starts_a_day_later(leading: Leading) -> None:
    await leading.session()
    leading.clocks.set(44 * DAY)
    await leading.session()
    assert await leading.believed() == [(0.7, 0)] * 3

    leading.clocks.go(DAY)
    await leading.session()

    assert await leading.believed() == [(0.5, 2)] * 3


async def test_clock_jitter_changes_nothing(leading: Leading) -> None:
    leading.clocks.jitter = timedelta(seconds=1)
    for _ in range(5):
        leading.clocks.go(HOUR)
        await leading.session("[MEMORY:timing:jellyfin] Fact 1")

    assert [weeks for _, weeks in await leading.believed()] == [0] * 3
    assert {each["status"] for each in await leading.sessions()} == {Status.COMPLETED}
    leading.clocks.go(44 * DAY + HOUR)
    await leading.session()
    assert [weeks for _, weeks in await leading.believed()] == [2, 2, 2]


@pytest.mark.parametrize("by", [40 * DAY, -40 * DAY])
async def test_rounds_follow_the_monotonic_clock(leading: Leading, by: timedelta) -> None:
    leading.script.write_text(json.dumps(result()) + "\n")
    assert await leading.supervisor.step()

    leading.clocks.set(by)

    assert [await leading.supervisor.step() for _ in range(5)] == [False] * 5
    assert len(await leading.sessions()) == 1


def test_a_clock_change_frees_slots_early_but_forgets_no_use() -> None:
    """A clock set ahead frees slots early; when set back, earlier uses still count."""
    used = [
        CooldownUse(
            id=number,
            service="web",
            action=ActionKind.RESTART,
            outcome=UseOutcome.SUCCESS,
            created_at=NOON,
        )
        for number in (1, 2)
    ]

    def free(uses: list[CooldownUse], now: datetime) -> bool:
        return cooldown_status("web", ActionKind.RESTART, uses, now=now).free

    assert not free(used, NOON + HOUR)
    assert free(used, NOON + 40 * DAY), "set ahead by 40 days"
    meanwhile = [*used, *(replace(each, created_at=NOON + 40 * DAY) for each in used)]
    assert not free(meanwhile, NOON + 40 * DAY + HOUR)
    assert not free(meanwhile, NOON + HOUR), "set back again"
    assert not free(used, NOON - 40 * DAY), "set back by 40 days"


async def test_a_request_runs_once_if_the_clock_is_changed(leading: Leading) -> None:
    from lamplighter.repository.sessions import requests

    leading.script.write_text(json.dumps(result()) + "\n")
    async with writing(leading.supervisor.db):
        await requests.insert(
            leading.supervisor.db, SessionPlan(tier=1), engine="exec", now=leading.clocks.now
        )
    leading.clocks.set(-40 * DAY)
    worked = [await leading.supervisor.step() for _ in range(4)]

    assert worked == [True, True, False, False], "the request and the first round"
    assert len(await leading.sessions()) == 2
