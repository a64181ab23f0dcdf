"""Which engine runs a session: that of its tier, unless the request names another."""

from pathlib import Path

import pytest
from inline_supervisor import leading

from lamplighter import clock
from lamplighter.domain.sessions.session import SessionPlan, Trigger
from lamplighter.engines.exec import ExecEngine
from lamplighter.repository import Database, writing
from lamplighter.repository.sessions import requests

HANDS_ON = ("lines", "[ESCALATE:web] it does not answer")
TIERS = {2: "second", 3: "third"}


@pytest.mark.parametrize(
    ("asked", "ran"),
    [
        ({"tier": 1}, ["exec", "second", "third"]),
        ({"tier": 2}, ["second", "third"]),
        ({"tier": 3}, ["third"]),
        ({"tier": 1, "engine": "third"}, ["third", "third", "third"]),
        ({"tier": 2, "engine": "exec"}, ["exec", "exec"]),
        ({"tier": 2, "engine": "gone"}, ["second", "third"]),
    ],
    ids=str,
)
async def test_each_tier_uses_its_engine_and_a_chain_the_requested_engine(
    db: Database, tmp_path: Path, asked: dict[str, object], ran: list[str]
) -> None:
    async with leading(db, tmp_path, *HANDS_ON) as bench:
        engine = bench.supervisor.context.engines["exec"]
        assert isinstance(engine, ExecEngine)
        bench.change(engines=dict.fromkeys(["exec", *TIERS.values()], engine))
        bench.change(engine="exec", tier_engines=TIERS)
        async with writing(db):
            plan = SessionPlan(trigger=Trigger.MANUAL, tier=int(str(asked["tier"])))
            named = asked.get("engine")
            await requests.insert(db, plan, engine=str(named) if named else None, now=clock.now())

        assert await bench.supervisor.step()

        assert [row["engine"] for row in await bench.rows("sessions")] == ran


async def test_rounds_use_the_engine_of_tier_1(db: Database, tmp_path: Path) -> None:
    async with leading(db, tmp_path, *HANDS_ON) as bench:
        engine = bench.supervisor.context.engines["exec"]
        bench.change(engines=dict.fromkeys(["exec", *TIERS.values()], engine))
        bench.change(engine="exec", tier_engines=TIERS)

        assert await bench.supervisor.step()

        assert [row["engine"] for row in await bench.rows("sessions")] == ["exec", *TIERS.values()]
