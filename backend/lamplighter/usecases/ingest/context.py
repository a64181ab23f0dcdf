"""The context of ingesting the lines of a session, and the results."""

import asyncio
import re
import time
from dataclasses import dataclass, field
from typing import Any, Final

from lamplighter.domain.configuration import Configuration
from lamplighter.domain.services.service import Services
from lamplighter.domain.sessions.session import Session
from lamplighter.domain.sessions.transcript import Finished, UsageReport
from lamplighter.repository.sessions.sessions import COUNTS
from lamplighter.usecases.clients.tool_hooks import SessionHooks
from lamplighter.usecases.context import Context
from lamplighter.usecases.memory.remember import LearningContext

WRITE_SECONDS: Final = 0.05
"""The longest time that one transaction of many may block other writers."""

REST_SECONDS: Final = 0.025
"""The pause for other writers after a transaction: several retries of a waiting process."""


@dataclass(slots=True)
class Pace:
    """The duration of one transaction, and the pause after it in which others write.

    The transaction ends before a step that would make it too long, estimated from its slowest step.
    """

    seconds: float = WRITE_SECONDS
    rest_seconds: float = REST_SECONDS
    _began: float = 0.0
    _last: float = 0.0
    _slowest: float = 0.0
    _busy_seconds: float = 0.0

    def begin(self) -> None:
        """Start a transaction: the write lock was acquired now."""
        self._began = self._last = time.monotonic()
        self._slowest = 0.0

    def over(self) -> bool:
        """Whether the transaction ends with the step that was just done."""
        now = time.monotonic()
        self._slowest = max(self._slowest, now - self._last)
        self._last = now
        return now - self._began + self._slowest > self.seconds

    async def rest(self) -> None:
        """Pause for other writers if they were blocked for a while."""
        self._busy_seconds += time.monotonic() - self._began
        if self._busy_seconds > self.seconds / 2:
            self._busy_seconds = 0.0
            await asyncio.sleep(self.rest_seconds)


@dataclass(slots=True)
class IngestResult:
    """The result of ingesting some lines: counts and usage of the session, and whether it finished.

    `printed` is the number of markers before these lines, once counted; `left` counts the markers
    over the limit, the first of them at `first_left`.
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
        """The numbers to add to the counts of the session."""
        return {name: getattr(self, name) for name in COUNTS}

    def hear(self, item: UsageReport | Finished) -> None:
        """Record the usage of the session, or its end."""
        if isinstance(item, UsageReport):
            self.spent = item
        else:
            self.finished = item

    def add(self, more: "IngestResult") -> None:
        """Add the result of later lines."""
        for name, count in more.counts.items():
            setattr(self, name, getattr(self, name) + count)
        self.left += more.left
        self.spent = more.spent or self.spent
        self.finished = more.finished or self.finished
        self.outcome = more.outcome or self.outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestContext(LearningContext):
    """The context of ingesting the lines of a session.

    `tool` is the tool by which a session reports, if not by a marker. While `halted`, markers stay
    in the session's file, like those over the limit.
    """

    session: Session
    halted: bool = False
    tool: str = ""
    hooked: SessionHooks = field(default_factory=SessionHooks)
    pace: Pace = field(default_factory=Pace)

    def uses(self, value: object) -> None:
        """Note the services named in a tool use of the session: it inspects them itself."""
        said = str(value)
        for name in self.services.names:
            # the search compiles a pattern per name: too slow for thousands of services
            if name in said and re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", said):
                self.looked.add(name)


def ingest_context(
    here: Context, active: Configuration, session: Session, services: Services, *, tool: str = ""
) -> IngestContext:
    """Return the context of ingesting the lines of a session."""
    return IngestContext(
        db=here.db,
        now=here.now,
        redact=here.redact,
        active=active,
        services=services,
        session=session,
        tool=tool,
    )
