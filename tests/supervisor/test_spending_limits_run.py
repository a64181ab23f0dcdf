"""Spending and time limits of model sessions, enforced by the real supervisor."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from inline_supervisor import leading

from lamplighter import clock
from lamplighter.domain.sessions.cost import SpendingCaps
from lamplighter.domain.sessions.session import Session, SessionPlan, Status
from lamplighter.repository import Database, writing
from lamplighter.repository.sessions import sessions
from lamplighter.supervisor.run import recovery, runner
from lamplighter.supervisor.run.limits import Limits

USUAL = SpendingCaps(session=1, chain=3, day=10)
SLOW = "0.3"  # longer than the supervisor looks away


async def cost(
    db: Database, dollars: float | None, *, budget: float = 1.0, hours: float = 1, **more: int
) -> Session:
    """Store a failed session with this cost, some hours ago."""
    async with writing(db):
        at = clock.now() - timedelta(hours=hours)
        plan = SessionPlan(budget_usd=budget, **more)
        held = await sessions.insert(db, plan, model=None, epoch=1, now=at)
        found = {"cost_usd": dollars}
        ended = await sessions.end(db, held.id, Status.FAILED, now=at, **found)
        assert ended is not None
        return ended


async def test_session_budget_is_the_rest_of_the_daily_limit(db: Database, tmp_path: Path) -> None:
    async with leading(db, tmp_path, "spends", "2", "0.01", "0", caps=USUAL) as bench:
        await cost(db, 9.25)

        session = await bench.make()

    assert (session.status, session.reason) == (Status.COMPLETED, "")
    assert (session.budget_usd, session.cost_usd, session.turns) == (0.75, 0.02, 2)
    assert (session.input_tokens, session.output_tokens) == (20, 2)
    [task] = bench.engine.tasks
    assert (task.budget_usd, task.max_turns) == (0.75, 50)


@pytest.mark.parametrize(
    ("spent", "words"),
    [((9.0, None), "Today's 10 dollars are spent; the limit resets at "), ((10.5,), "Today's 10 ")],
)
async def test_exhausted_daily_limit_starts_no_engine(
    db: Database, tmp_path: Path, spent: tuple[float | None, ...], words: str
) -> None:
    async with leading(db, tmp_path, "spends", "1", "0.01", "0", caps=USUAL) as bench:
        for dollars in spent:
            await cost(db, dollars)

        session = await bench.make()

    assert session.status is Status.FAILED
    assert session.reason.startswith(words)
    assert bench.engine.tasks == []
    assert (session.budget_usd, session.cost_usd) == (0.0, 0.0)
    assert not bench.supervisor.context.files.path(session).exists()


async def test_spending_older_than_a_day_does_not_count(db: Database, tmp_path: Path) -> None:
    async with leading(db, tmp_path, "spends", "1", "0.01", "0", caps=USUAL) as bench:
        await cost(db, 10.0, hours=24.01)

        assert (await bench.make()).status is Status.COMPLETED


async def test_chain_budget_is_the_rest_of_the_chain_limit(db: Database, tmp_path: Path) -> None:
    async with leading(db, tmp_path, "spends", "1", "0.01", "0", caps=USUAL) as bench:
        first = await cost(db, 1.0)
        second = await cost(db, 1.75, parent_id=first.id)
        await cost(db, 1.0)  # of another chain
        engine = bench.engine
        left = await runner.remaining_budget(
            db, USUAL, SessionPlan(parent_id=second.id), engine, now=clock.now()
        )
        third = await cost(db, None, parent_id=second.id, budget=0.25)
        none = await runner.remaining_budget(
            db, USUAL, SessionPlan(parent_id=third.id), engine, now=clock.now()
        )

    assert (left.budget_usd, left.why_not) == (0.25, None)
    assert none.why_not == "This chain's 3 dollars are spent; the next round starts a new chain."


async def test_engine_without_a_model_has_no_budget(db: Database, tmp_path: Path) -> None:
    async with leading(db, tmp_path, "lines", "all well", caps=USUAL) as bench:
        await cost(db, 20.0)

        session = await bench.make(engine="exec")

    assert (session.status, session.budget_usd) == (Status.COMPLETED, None)


async def test_session_is_stopped_at_most_one_turn_over_its_budget(
    db: Database, tmp_path: Path
) -> None:
    caps = replace(USUAL, session=0.25)
    async with leading(db, tmp_path, "spends", "30", "0.1", SLOW, caps=caps) as bench:
        session = await bench.make()

    assert session.status is Status.FAILED
    assert session.reason == "The session spent 0.3000 dollars; the limit is 0.25."
    assert session.cost_usd in (0.3, 0.4)
    assert session.learned in (3, 4)
    assert session.summary.startswith("Session with ")


async def test_session_is_stopped_at_most_one_turn_over_its_turn_limit(
    db: Database, tmp_path: Path
) -> None:
    async with leading(db, tmp_path, "spends", "30", "?", SLOW, caps=USUAL, max_turns=2) as bench:
        session = await bench.make()

    assert session.status is Status.FAILED
    assert session.reason == "The session used 3 turns; the limit is 2."
    assert session.turns in (3, 4)
    assert (session.cost_usd, session.budget_usd) == (None, 1.0)


async def test_session_that_uses_its_exact_budget_completes(db: Database, tmp_path: Path) -> None:
    caps = replace(USUAL, session=0.2)
    async with leading(db, tmp_path, "spends", "2", "0.1", SLOW, caps=caps) as bench:
        session = await bench.make()

    assert (session.status, session.cost_usd) == (Status.COMPLETED, 0.2)


@pytest.mark.parametrize(("dollars", "counted"), [("0.1", 0.2), ("?", 1.0)])
async def test_spending_of_a_killed_session_counts(
    db: Database, tmp_path: Path, dollars: str, counted: float
) -> None:
    more = {"limits": Limits(grace=0.2), "idle_seconds": 3.0}
    words = ("spends", "2", dollars, "0", "hangs")
    async with leading(db, tmp_path, *words, caps=USUAL, **more) as bench:
        session = await bench.make()
        left = await runner.remaining_budget(
            db, SpendingCaps(day=10), SessionPlan(), bench.engine, now=clock.now()
        )

    assert session.status is Status.TIMED_OUT
    assert session.turns == 2
    assert left.budget_usd == 10 - counted


async def test_open_session_of_a_dead_supervisor_counts_its_budget(
    db: Database, tmp_path: Path
) -> None:
    async with leading(db, tmp_path, "lines", "hm", caps=USUAL) as bench:
        async with writing(db):
            plan = SessionPlan(engine="model", budget_usd=0.75)
            await sessions.insert(db, plan, model=None, epoch=1, now=clock.now())

        found = await recovery.recover(bench.supervisor.context, bench.supervisor.load())
        left = await runner.remaining_budget(
            db, SpendingCaps(day=10), SessionPlan(), bench.engine, now=clock.now()
        )

    assert [each.status for each in found.ended] == [Status.INTERRUPTED]
    assert left.budget_usd == 9.25
