"""Price: what a model's tokens cost. What is not known here stays unknown; it is never 0."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from lamplighter.domain.transcript import Usage

TOKENS: Final = 1_000_000
_SNAPSHOT: Final = re.compile(r"[-@](?:\d{8}|latest)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Dollars for a million tokens: given, given by a model, read from a cache, written to one.

    `beyond` prices a request whose prompt is longer than `long` tokens, caches counted.
    """

    given: float
    gave: float
    cache_read: float
    cache_write: float
    long: int = 0
    beyond: "Price | None" = None

    def of(self, usage: Usage) -> float:
        """Return what one request cost."""
        asked = usage.given + usage.cache_read + usage.cache_write
        if self.beyond is not None and asked > self.long:
            return self.beyond.of(usage)
        dollars = (
            usage.given * self.given
            + usage.gave * self.gave
            + usage.cache_read * self.cache_read
            + usage.cache_write * self.cache_write
        )
        return dollars / TOKENS


Prices = Mapping[str, Price]


def _price(given: float, *, read: float = 0.1, long: int = 0, beyond: Price | None = None) -> Price:
    """Return a price as the list has it: five times as much for what a model gives."""
    return Price(
        given=given,
        gave=given * 5,
        cache_read=given * read,
        cache_write=given * 1.25,
        long=long,
        beyond=beyond,
    )


LIST: Final[Prices] = {
    "claude-fable-5": _price(10.0),
    "claude-fable-5-1": _price(10.0, read=0.025),
    "claude-haiku-3-5": _price(0.8),
    "claude-3-5-haiku": _price(0.8),
    "claude-haiku-4-5": _price(1.0),
    "claude-haiku-5-5": _price(0.1, long=100_000, beyond=_price(0.5)),
    "claude-mythos-5": _price(10.0),
    "claude-mythos-5-1": _price(10.0, read=0.025),
    "claude-opus-4": _price(15.0),
    "claude-opus-4-0": _price(15.0),
    "claude-opus-4-1": _price(15.0),
    "claude-opus-4-5": _price(5.0),
    "claude-opus-4-6": _price(5.0),
    "claude-opus-4-7": _price(5.0),
    "claude-opus-4-8": _price(5.0),
    "claude-opus-5": _price(5.0),
    "claude-opus-5-5": _price(4.0, read=0.05),
    "claude-3-7-sonnet": _price(3.0),
    "claude-sonnet-4": _price(3.0),
    "claude-sonnet-4-0": _price(3.0),
    "claude-sonnet-4-5": _price(3.0),
    "claude-sonnet-4-6": _price(3.0),
    "claude-sonnet-5": _price(2.0),
    "claude-sonnet-5-5": _price(2.0, read=0.05),
}
"""The vendor's published list as of October 2026, with caches that are kept for five minutes.

It is an estimate: discounts, other vendors and later lists differ. `prices.toml`
in the home goes before it.
"""


def price_of(model: str, own: Prices | None = None) -> Price | None:
    """Return the price of a model, a dated snapshot being priced as its family; None: unknown.

    `own` are an operator's prices, which go before the list.
    """
    family = _SNAPSHOT.sub("", model)
    every = {**LIST, **(own or {})}
    return (own or {}).get(model) or every.get(family)


def cost(model: str, usage: Usage, own: Prices | None = None) -> float | None:
    """Return what one request to a model cost in dollars; None where its price is not known."""
    price = price_of(model, own)
    return None if price is None else price.of(usage)
