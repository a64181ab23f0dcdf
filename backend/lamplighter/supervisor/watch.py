"""What a session may take, and how one that takes more is brought to its end."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from lamplighter.domain.session import Status
from lamplighter.engines.process import Run
from lamplighter.usecases.ingest import MAX_MARKERS

AFTER_RESULT_SECONDS: Final = 30.0
HALT_GRACE_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long a session may take, in seconds, and how many markers are taken from it."""

    total: float = 900.0
    idle: float = 300.0
    after_result: float = AFTER_RESULT_SECONDS
    drain: float = 4.0
    grace: float = 3.0
    markers: int = MAX_MARKERS


@dataclass(slots=True)
class Watch:
    """What decides that a running session has to stop, and how far stopping has got."""

    limits: Limits
    draining: asyncio.Event
    began: float = field(default_factory=time.monotonic)
    heard: float = field(default_factory=time.monotonic)
    result_at: float | None = None
    draining_at: float | None = None
    status: Status | None = None
    reason: str = ""
    cramped: bool = False
    steps: list[Callable[[], None]] = field(default_factory=list)
    next_step: float = 0.0
    grace: float | None = None

    def halt(self, reason: str, run: Run) -> None:
        """Begin to stop because of a halt, which waits less long for each step."""
        self.grace = min(self.limits.grace, HALT_GRACE_SECONDS)
        self.stop(Status.STOPPED, reason, run)

    def stop(self, status: Status, reason: str, run: Run) -> None:
        """Begin to stop: interrupt, then terminate, then kill."""
        if self.status is None:
            self.status, self.reason = status, reason
            self.steps = [run.interrupt, run.terminate, run.kill]
            self.next_step = 0.0

    def press_on(self) -> None:
        """Take the next step when the last one had its time."""
        if self.steps and time.monotonic() >= self.next_step:
            self.steps.pop(0)()
            self.next_step = time.monotonic() + (self.grace or self.limits.grace)

    def overdue(self) -> str | None:
        """Say which limit the session has passed."""
        now = time.monotonic()
        if self.result_at is not None:
            return None
        if now - self.began > self.limits.total:
            return f"It ran longer than {self.limits.total:g} s."
        if now - self.heard > self.limits.idle:
            return f"It printed nothing for {self.limits.idle:g} s."
        return None

    def drained(self) -> bool:
        """Whether a session had its time to end by itself since the supervisor was asked to."""
        self.draining_at = self.draining_at or time.monotonic()
        return time.monotonic() - self.draining_at >= self.limits.drain

    def cramp(self, *, full: bool) -> None:
        """Keep that there was no space when the engine ended: its words had no room to say so."""
        self.cramped = full

    def lingers(self) -> bool:
        """Whether the engine has given its result but does not end."""
        return (
            self.result_at is not None
            and time.monotonic() - self.result_at > self.limits.after_result
        )
