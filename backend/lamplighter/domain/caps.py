"""What sessions of a model may cost: one session, a chain of them, and those of 24 hours.

What a session cost and nobody knows (it was killed before it said so, its model has
no price) counts as the budget that it had: never as nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import fsum
from typing import Final

from lamplighter.domain.text import clock
from lamplighter.domain.transcript import Spent

DAY: Final = timedelta(hours=24)
MAX_TURNS: Final = 50
LEAST_USD: Final = 0.0001
"""What is left below this is nothing: no model answers for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """How many dollars may be spent; None is no limit."""

    session: float | None = None
    chain: float | None = None
    day: float | None = None


@dataclass(frozen=True, slots=True)
class Charge:
    """What one session counts for, and when it began."""

    at: datetime
    dollars: float


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a session may cost, None without a limit; `why_not` says why it may not begin."""

    budget_usd: float | None = None
    why_not: str | None = None


def allowance(caps: Caps, *, chain: float, day: Sequence[Charge], now: datetime) -> Allowance:
    """Say what is left for a session whose chain has cost `chain`; `day` is oldest first."""
    spent = fsum(each.dollars for each in day)
    left = {
        "session": caps.session,
        "chain": None if caps.chain is None else caps.chain - chain,
        "day": None if caps.day is None else caps.day - spent,
    }
    limits = {name: dollars for name, dollars in left.items() if dollars is not None}
    if not limits:
        return Allowance()
    least = min(limits, key=lambda name: limits[name])
    if limits[least] >= LEAST_USD:
        return Allowance(round(limits[least], 6))
    return Allowance(0.0, _why_not(least, caps, day, now=now))


def _why_not(which: str, caps: Caps, day: Sequence[Charge], *, now: datetime) -> str:
    if which == "session":
        return "No dollar may be spent on a session: LAMPLIGHTER_SESSION_DOLLARS is 0."
    if which == "chain":
        return f"This chain's {_spent(caps.chain)}; the next round begins another."
    free = free_at(caps.day or 0.0, day)
    again = f"; free again at {clock(free, now)}" if free else ""
    return f"Today's {_spent(caps.day)}{again}."


def free_at(cap: float, day: Sequence[Charge]) -> datetime | None:
    """Return when enough of what was spent is 24 hours old; None when that is never."""
    left = fsum(each.dollars for each in day)
    for each in day:
        left -= each.dollars
        if cap - left >= LEAST_USD:
            return each.at + DAY
    return None


def _spent(amount: float | None) -> str:
    return "1 dollar is spent" if amount == 1 else f"{amount or 0:g} dollars are spent"


def overspent(spent: Spent, *, turns: int, dollars: float | None) -> str | None:
    """Say why a session that has spent so much may not go on; None while it may."""
    if spent.turns > turns > 0:
        return f"It took {spent.turns} turns; {turns} are allowed."
    cost = spent.cost_usd
    if dollars is not None and cost is not None and cost > 0 and cost >= dollars:
        return f"It spent {cost:.4f} dollars; it had {dollars:g}."
    return None
