"""The request that the engine reads from its standard input."""

from dataclasses import dataclass
from typing import Any, Final

import msgspec

from lamplighter.domain.sessions.cost import Price

MIN_THINKING: Final = 1_024
"""The API takes no smaller number of tokens to think with."""


@dataclass(frozen=True, slots=True)
class AnswerLimits:
    """How long one answer may be and may take, and with how many tokens the model may think."""

    tokens: int = 4_096
    seconds: float = 240.0
    thinking: int = 0

    @property
    def parameters(self) -> dict[str, Any]:
        """What of it goes into a request; what is thought comes on top of the answer."""
        if not self.thinking:
            return {"max_tokens": self.tokens}
        budget = max(MIN_THINKING, self.thinking)
        thinking = {"type": "enabled", "budget_tokens": budget}
        return {"max_tokens": self.tokens + budget, "thinking": thinking}


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagesRequest:
    """What a session is asked, by which model, and how far it may go.

    `max_turns` 0 and a budget of None are no limits. `resumed` says how often it
    went on after a crash, `printed` how many lines it had printed until then.
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
    """Return the request that these bytes are; ValueError says what is wrong with them."""
    return msgspec.json.decode(raw, type=MessagesRequest)
