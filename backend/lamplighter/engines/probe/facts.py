"""What a round saw, what earlier rounds saw, and what is remembered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from lamplighter.domain.service import Check, Service


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one attempt came to; `seen` is how the answer's body began, where that explains it."""

    ok: bool
    detail: str = ""
    status: int | None = None
    seen: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a check came to in this round.

    `detail` is why it failed, or why an attempt failed before one passed.
    `looks` are the statuses of a healthy answer, more than one when it was
    looked at again to learn what is usual.
    """

    check: Check
    ok: bool
    latency_ms: float
    status: int | None = None
    attempts: int = 1
    failed: int = 0
    detail: str = ""
    seen: str = ""
    looks: tuple[int, ...] = ()

    @property
    def flapped(self) -> bool:
        """Say whether it failed and passed in the same round."""
        return self.ok and self.failed > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What a check came to in an earlier round."""

    ok: bool
    at: datetime
    status: int | None = None
    flapped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A memory we hold."""

    id: int | str
    category: str
    observation: str
    confidence: float
    updated_at: datetime
    service: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known before the round; the newest of the history comes first."""

    now: datetime
    memories: Sequence[Held] = ()
    history: Mapping[str, Sequence[Past]] = field(default_factory=dict)

    def past(self, service: Service, check: Check) -> Sequence[Past]:
        """Return what a check came to in earlier rounds, the newest first."""
        return self.history.get(f"{service.name}/{check.name}", ())
