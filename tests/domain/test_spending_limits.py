"""Spending limits of sessions: a table of cases, and properties for any figures."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.sessions.cost import (
    DAY,
    LEAST_USD,
    Allowance,
    Charge,
    SpendingCaps,
    compute_allowance,
    next_free_at,
    overspend_reason,
)
from lamplighter.domain.sessions.transcript import Usage, UsageReport

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
USUAL = SpendingCaps(session=1, chain=3, day=10)
MORNING = tuple(Charge(NOON - each * HOUR, 2.5) for each in (5, 4, 3, 2))


def charge(dollars: float, *, hours: int = 1) -> Charge:
    return Charge(NOON - hours * HOUR, dollars)


@pytest.mark.parametrize(
    ("caps", "chain", "day", "left"),
    [
        (SpendingCaps(), 99.0, MORNING, Allowance()),
        (USUAL, 0.0, (), Allowance(1)),
        (USUAL, 2.25, (), Allowance(0.75)),
        (USUAL, 0.0, (charge(9.9),), Allowance(0.1)),
        (SpendingCaps(day=10), 5.0, (charge(4),), Allowance(6)),
        (SpendingCaps(chain=3), 1.0, MORNING, Allowance(2)),
        (
            SpendingCaps(session=0),
            0.0,
            (),
            Allowance(0, "Paid sessions are off: LAMPLIGHTER_SESSION_DOLLARS is 0."),
        ),
        (
            USUAL,
            3.2,
            (),
            Allowance(0, "This chain's 3 dollars are spent; the next round starts a new chain."),
        ),
        (
            USUAL,
            0.0,
            MORNING,
            Allowance(0, "Today's 10 dollars are spent; the limit resets at 02 Jan 07:00 UTC."),
        ),
        (
            SpendingCaps(day=1),
            0.0,
            (charge(0.2, hours=23), charge(1.5, hours=1)),
            Allowance(0, "Today's 1 dollar is spent; the limit resets at 02 Jan 11:00 UTC."),
        ),
        (SpendingCaps(day=0), 0.0, (), Allowance(0, "Today's 0 dollars are spent.")),
    ],
)
def test_the_allowance_is_the_smallest_remaining_cap(
    caps: SpendingCaps, chain: float, day: tuple[Charge, ...], left: Allowance
) -> None:
    assert compute_allowance(caps, chain=chain, day=day, now=NOON) == left


amounts = st.one_of(st.none(), st.floats(0, 50))
days = st.lists(st.builds(charge, st.floats(0.001, 9), hours=st.integers(0, 23)), max_size=9)


@given(session=amounts, chain=amounts, day=amounts, spent=st.floats(0, 60), charges=days)
def test_no_session_receives_more_than_any_cap_leaves(
    session: float | None,
    chain: float | None,
    day: float | None,
    spent: float,
    charges: list[Charge],
) -> None:
    charges.sort(key=lambda each: each.at)
    caps = SpendingCaps(session=session, chain=chain, day=day)

    found = compute_allowance(caps, chain=spent, day=charges, now=NOON)

    if found.budget_usd is None:
        assert caps == SpendingCaps()
        return
    assert (found.why_not is None) == (found.budget_usd >= LEAST_USD)
    today = sum(each.dollars for each in charges)
    for cap, taken in ((session, 0.0), (chain, spent), (day, today)):
        assert found.budget_usd == 0 or cap is None or found.budget_usd <= cap - taken + 1e-6


@given(day=st.floats(0.01, 20), charges=days)
def test_the_daily_budget_is_free_again_at_the_stated_time(
    day: float, charges: list[Charge]
) -> None:
    charges.sort(key=lambda each: each.at)
    free = next_free_at(day, charges)
    if free is None:
        return
    held = [each for each in charges if each.at > free - DAY]
    assert compute_allowance(SpendingCaps(day=day), chain=0, day=held, now=free).why_not is None


@pytest.mark.parametrize(
    ("turns", "cost", "why"),
    [
        (50, 0.99, None),
        (51, 0.5, "The session used 51 turns; the limit is 50."),
        (3, 1.0, "The session spent 1.0000 dollars; the limit is 1."),
        (3, 1.2345, "The session spent 1.2345 dollars; the limit is 1."),
        (3, None, None),
        (51, None, "The session used 51 turns; the limit is 50."),
    ],
)
def test_a_session_over_its_turns_or_dollars_has_a_reason_to_stop(
    turns: int, cost: float | None, why: str | None
) -> None:
    assert overspend_reason(UsageReport(turns, Usage(), cost), turns=50, dollars=1) == why
    assert overspend_reason(UsageReport(3, Usage(), cost), turns=50, dollars=None) is None


def test_a_session_without_cost_is_not_stopped_by_a_budget() -> None:
    assert overspend_reason(UsageReport(3, Usage(), 0.0), turns=50, dollars=0.0) is None
