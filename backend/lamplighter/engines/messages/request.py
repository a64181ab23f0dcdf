"""The request that the engine reads from its standard input."""

from dataclasses import dataclass
from typing import Any

import msgspec

from lamplighter.domain.price import Price


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a session is asked, by which model, and how far it may go.

    `max_turns` 0 and a budget of None are no limits. `resumed` says how often it
    went on after a crash, `said` how many lines it had printed until then.
    """

    session: int
    model: str
    system: str
    injected: str
    prompt: str
    gate: str = ""
    chain: dict[str, Any]
    price: Price | None = None
    max_turns: int = 0
    budget_usd: float | None = None
    resumed: int = 0
    said: int = 0


def read(raw: bytes) -> Request:
    """Return the request that these bytes are; ValueError says what is wrong with them."""
    return msgspec.json.decode(raw, type=Request)
