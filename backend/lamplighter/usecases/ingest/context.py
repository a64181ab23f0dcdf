"""What ingesting a session's lines needs, and what it brings."""

import asyncio
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from lamplighter.domain.memory.admit import Redact
from lamplighter.domain.relate import Lexicon, builtin_lexicon
from lamplighter.domain.relate.reconcile import EchoPolicy
from lamplighter.domain.services.service import Services
from lamplighter.domain.sessions.session import MAX_TIER, Session
from lamplighter.domain.sessions.transcript import Finished, UsageReport
from lamplighter.repository import Database
from lamplighter.usecases.clients.tool_hooks import SessionHooks
from lamplighter.usecases.memory.remember import LearningOptions
from lamplighter.usecases.sessions.parking import MAX_PARKED

MAX_MARKERS: Final = 2_000
WRITE_SECONDS: Final = 0.05
"""How long one transaction of many may keep other writers waiting."""

REST_SECONDS: Final = 0.025
"""How long others are let in after it: several tries of a process that waits."""


@dataclass(slots=True)
class Pace:
    """How long one transaction lasts, and the rest after it in which others write.

    It ends before the step that would make it too long, if that took as long as
    the slowest before it.
    """

    seconds: float = WRITE_SECONDS
    rest_seconds: float = REST_SECONDS
    _began: float = 0.0
    _last: float = 0.0
    _slowest: float = 0.0
    _held: float = 0.0

    def begin(self) -> None:
        """Begin a transaction: the right to write was obtained now."""
        self._began = self._last = time.monotonic()
        self._slowest = 0.0

    def over(self) -> bool:
        """Whether the transaction ends with the step that was just done."""
        now = time.monotonic()
        self._slowest = max(self._slowest, now - self._last)
        self._last = now
        return now - self._began + self._slowest > self.seconds

    async def rest(self) -> None:
        """Let others write, when they could not for a while."""
        self._held += time.monotonic() - self._began
        if self._held > self.seconds / 2:
            self._held = 0.0
            await asyncio.sleep(self.rest_seconds)


@dataclass(slots=True)
class IngestResult:
    """What some lines brought: counts for the session, what it spent, and whether it is done.

    `printed` is how many markers it had brought, once that was asked; `left` counts
    those over the limit, the first of them at `first_left`.
    """

    learned: int = 0
    reinforced: int = 0
    events: int = 0
    ignored: int = 0
    spent: UsageReport | None = None
    finished: Finished | None = None
    printed: int | None = None
    left: int = 0
    first_left: tuple[int, int] | None = None
    outcome: dict[str, Any] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, int]:
        """What is added to the counts of the session."""
        return {
            "learned": self.learned,
            "reinforced": self.reinforced,
            "events": self.events,
            "ignored": self.ignored,
        }

    def hear(self, item: UsageReport | Finished) -> None:
        """Note what the session has spent, or that it is done."""
        if isinstance(item, UsageReport):
            self.spent = item
        else:
            self.finished = item

    def add(self, more: "IngestResult") -> None:
        """Add what the lines after these brought."""
        for name, count in more.counts.items():
            setattr(self, name, getattr(self, name) + count)
        self.left += more.left
        self.spent = more.spent or self.spent
        self.finished = more.finished or self.finished
        self.outcome = more.outcome or self.outcome


@dataclass(frozen=True, slots=True)
class IngestContext:
    """What ingesting a session's lines needs besides the lines.

    `tool` is the one by which a session says something, where it is not a marker. `services`
    are those that are declared, `parked` how many sessions may wait for a person at a time.
    """

    db: Database
    session: Session
    redact: Redact
    known: Sequence[str] = ()
    max_markers: int = MAX_MARKERS
    max_tier: int = MAX_TIER
    fading: bool = True
    lexicon: Lexicon = field(default_factory=builtin_lexicon)
    echo: EchoPolicy = EchoPolicy.COUNT
    looked: set[str] = field(default_factory=set)
    tool: str = ""
    hooked: SessionHooks = field(default_factory=SessionHooks)
    pace: Pace = field(default_factory=Pace)
    services: Services = field(default_factory=Services)
    parked: int = MAX_PARKED

    @property
    def manner(self) -> LearningOptions:
        """How what this session learns is taken in."""
        return LearningOptions(
            redact=self.redact,
            known=self.known,
            fading=self.fading,
            lexicon=self.lexicon,
            echo=self.echo,
            looked=frozenset(self.looked),
        )

    def uses(self, given: object) -> None:
        """Note which services the session's own tool use names: it looks at them itself."""
        said = str(given)
        for name in self.known:
            if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", said):
                self.looked.add(name)
