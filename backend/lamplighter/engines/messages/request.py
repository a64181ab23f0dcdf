"""The request that the engine reads from its standard input."""

from dataclasses import dataclass
from typing import Any, Final

import msgspec

from lamplighter.domain.sessions.cost import Price

MIN_THINKING: Final = 1_024
"""The API's minimum of tokens for thinking."""


@dataclass(frozen=True, slots=True)
class AnswerLimits:
    """The limits of an answer: its length, its time, and the model's tokens for thinking."""

    tokens: int = 4_096
    seconds: float = 240.0
    thinking: int = 0

    @property
    def parameters(self) -> dict[str, Any]:
        """Return the parameters of a request; thinking tokens are added to those of the answer."""
        if not self.thinking:
            return {"max_tokens": self.tokens}
        budget = max(MIN_THINKING, self.thinking)
        thinking = {"type": "enabled", "budget_tokens": budget}
        return {"max_tokens": self.tokens + budget, "thinking": thinking}


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagesRequest:
    """The request of a session, its model, and its limits.

    `max_turns` 0 and a budget of None are no limits. `resumed` counts how often the session was
    resumed after a crash, `printed` the lines that it had printed by then.
    """

    session: int
    model: str
    system: str
    injected: str
    prompt: str
    gate: str = ""
    chain: dict[str, Any]
    price: Price | None = None
    answers: AnswerLimits = AnswerLimits()
    max_turns: int = 0
    budget_usd: float | None = None
    resumed: int = 0
    printed: int = 0


def read(raw: bytes) -> MessagesRequest:
    """Parse a request; ValueError describes the error."""
    return msgspec.json.decode(raw, type=MessagesRequest)
