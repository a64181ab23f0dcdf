"""Prices of a model's tokens. An unknown price stays unknown; it is never 0."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import fsum
from typing import Final

from lamplighter.domain.sessions.transcript import Usage, UsageReport
from lamplighter.domain.tables import read_table
from lamplighter.domain.text import format_time

TOKENS: Final = 1_000_000
_SNAPSHOT: Final = re.compile(r"[-@](?:\d{8}|latest)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Dollars per million tokens: input, output, cache read, cache write.

    `beyond` is the price of a request whose prompt is longer than `long` tokens, caches included.
    """

    input: float
    output: float
    cache_read: float
    cache_write: float
    long: int = 0
    beyond: "Price | None" = None

    def of(self, usage: Usage) -> float:
        """Return the cost of one request in dollars."""
        asked = usage.uncached + usage.cache_read + usage.cache_write
        if self.beyond is not None and asked > self.long:
            return self.beyond.of(usage)
        dollars = (
            usage.uncached * self.input
            + usage.output * self.output
            + usage.cache_read * self.cache_read
            + usage.cache_write * self.cache_write
        )
        return dollars / TOKENS


Prices = Mapping[str, Price]


def _list_price(price: float, read: float = 0.1, long: float = 0, beyond: float = 0) -> Price:
    """Return a price by the rules of the list: output costs five times as much as input."""
    return Price(
        input=price,
        output=price * 5,
        cache_read=price * read,
        cache_write=price * 1.25,
        long=int(long),
        beyond=_list_price(beyond) if beyond else None,
    )


PRICE_LIST: Final[Prices] = {
    model: _list_price(*map(float, figures.split()))
    for model, figures in read_table(__package__, "prices.txt")
}
"""The vendor's published list as of October 2026, for caches with a lifetime of five minutes.

It is an estimate: discounts, other vendors and later lists differ. `prices.toml` in the home
directory overrides the list.
"""


def find_price(model: str, own: Prices | None = None) -> Price | None:
    """Return the price of a model; a dated snapshot costs the same as its family. None: unknown.

    `own` are an operator's prices, which override the list.
    """
    family = _SNAPSHOT.sub("", model)
    every = {**PRICE_LIST, **(own or {})}
    return (own or {}).get(model) or every.get(family)


def request_cost(model: str, usage: Usage) -> float | None:
    """Return the cost of one request to a model in dollars; None if the price is unknown."""
    price = find_price(model)
    return None if price is None else price.of(usage)


DAY: Final = timedelta(hours=24)
MAX_TURNS: Final = 50
LEAST_USD: Final = 0.0001
"""A remaining budget below this counts as 0: no model answers for less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendingCaps:
    """Spending limits in dollars; None means no limit."""

    session: float | None = None
    chain: float | None = None
    day: float | None = None


@dataclass(frozen=True, slots=True)
class Charge:
    """The cost of one session, and when the session began."""

    at: datetime
    dollars: float


@dataclass(frozen=True, slots=True)
class Allowance:
    """The maximum cost of a session, None: no limit; `why_not` is why it may not start."""

    budget_usd: float | None = None
    why_not: str | None = None


def compute_allowance(
    caps: SpendingCaps, *, chain: float, day: Sequence[Charge], now: datetime
) -> Allowance:
    """Return the allowance of a session whose chain has cost `chain`; `day` is oldest first."""
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
    return Allowance(0.0, _cap_reason(least, caps, day, now=now))


def _cap_reason(which: str, caps: SpendingCaps, day: Sequence[Charge], *, now: datetime) -> str:
    if which == "session":
        return "Paid sessions are off: LAMPLIGHTER_SESSION_DOLLARS is 0."
    if which == "chain":
        return f"This chain's {_format_spending(caps.chain)}; the next round starts a new chain."
    free = next_free_at(caps.day or 0.0, day)
    again = f"; the limit resets at {format_time(free, now)}" if free else ""
    return f"Today's {_format_spending(caps.day)}{again}."


def next_free_at(cap: float, day: Sequence[Charge]) -> datetime | None:
    """Return when enough of the spending is 24 hours old; None if never."""
    left = fsum(each.dollars for each in day)
    for each in day:
        left -= each.dollars
        if cap - left >= LEAST_USD:
            return each.at + DAY
    return None


def _format_spending(amount: float | None) -> str:
    return "1 dollar is spent" if amount == 1 else f"{amount or 0:g} dollars are spent"


def overspend_reason(spent: UsageReport, *, turns: int, dollars: float | None) -> str | None:
    """Return why a session with this spending must stop; None if the session may continue."""
    if spent.turns > turns > 0:
        return f"The session used {spent.turns} turns; the limit is {turns}."
    cost = spent.cost_usd
    if dollars is not None and cost is not None and cost > 0 and cost >= dollars:
        return f"The session spent {cost:.4f} dollars; the limit is {dollars:g}."
    return None
