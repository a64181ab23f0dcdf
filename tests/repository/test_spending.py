"""The cost of sessions, as both databases sum it."""

from datetime import UTC, datetime, timedelta

import pytest

from lamplighter.domain.sessions.cost import Charge
from lamplighter.domain.sessions.session import Session, SessionPlan, Status
from lamplighter.domain.sessions.transcript import Usage, UsageReport
from lamplighter.repository import Database, writing
from lamplighter.repository.sessions import sessions

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


async def cost(
    db: Database, dollars: float | None, *, budget: float | None = None, at: datetime = NOON
) -> int:
    async with writing(db):
        plan = SessionPlan(budget_usd=budget)
        opened = await sessions.insert(db, plan, model=None, epoch=1, now=at)
        await sessions.end(db, opened.id, Status.FAILED, cost_usd=dollars, now=at)
        return opened.id


@pytest.mark.parametrize(
    ("dollars", "budget", "counted"),
    [
        (0.25, 1.0, 0.25),
        (1.5, 1.0, 1.5),
        (None, 1.0, 1.0),
        (None, None, 0.0),
        (0.01, None, 0.01),
        (0.0, 1.0, 0.0),
    ],
)
async def test_unknown_cost_is_charged_as_the_budget(
    db: Database, dollars: float | None, budget: float | None, counted: float
) -> None:
    one = await cost(db, dollars, budget=budget)

    assert await sessions.total_charged(db, [one]) == counted
    since = await sessions.charges_since(db, NOON - HOUR)
    assert since == ([Charge(NOON, counted)] if counted else [])


async def test_charges_since_lists_charges_oldest_first(db: Database) -> None:
    for hours, dollars in ((0, 0.5), (-3, 0.25), (-1, 2.0), (-2, None)):
        await cost(db, dollars, at=NOON + hours * HOUR)

    found = await sessions.charges_since(db, NOON - 3 * HOUR)

    assert found == [Charge(NOON - HOUR, 2.0), Charge(NOON, 0.5)]
    assert await sessions.total_charged(db, [1, 2, 4]) == 0.75
    assert await sessions.total_charged(db, []) == 0.0


async def test_set_spent_stores_the_reported_usage_of_a_running_session(db: Database) -> None:
    async with writing(db):
        opened: Session = await sessions.insert(
            db, SessionPlan(budget_usd=1.0), model=None, epoch=1, now=NOON
        )
    assert await sessions.total_charged(db, [opened.id]) == 1.0

    usage = Usage(uncached=1, output=2, cache_read=3, cache_write=4)
    async with writing(db):
        await sessions.set_spent(db, opened.id, UsageReport(7, usage, 0.125))
        held = await sessions.progress(db, opened.id, log_offset=10, now=NOON)

    assert (held.turns, held.cost_usd, held.budget_usd, held.version) == (7, 0.125, 1.0, 2)
    assert (held.input_tokens, held.output_tokens) == (1, 2)
    assert (held.cache_read_tokens, held.cache_write_tokens) == (3, 4)
    assert await sessions.total_charged(db, [opened.id]) == 0.125

    async with writing(db):
        await sessions.set_spent(db, opened.id, UsageReport(8, usage, None))

    assert await sessions.total_charged(db, [opened.id]) == 1.0
