"""What a session may take, and how one that takes more is brought to its end."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from lamplighter.domain.configuration import Configuration
from lamplighter.domain.sessions.cost import overspend_reason
from lamplighter.domain.sessions.session import Status
from lamplighter.engines.process import EngineRun
from lamplighter.supervisor.run.tracing import TurnSpans
from lamplighter.usecases.ingest.context import IngestResult

AFTER_RESULT_SECONDS: Final = 30.0
HALT_GRACE_SECONDS: Final = 2.0
FINAL_OUTPUT_SECONDS: Final = 1.0
MAX_LINE_BYTES: Final = 64 * 2**20
MAX_OUTPUT_BYTES: Final = 128 * 2**20
REST_BYTES: Final = 4 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How a session is ended: the seconds of each step, and how much of its output is read.

    It is asked to stop, then to end, then killed, `grace` seconds apart. A line of
    more than `endless` bytes that has no end yet is no line: it fills the disk, as
    whoever prints more than `most` bytes does. What one that was stopped has printed
    is taken in no further than `rest` bytes on: it may be hours of reading.
    """

    after_result: float = AFTER_RESULT_SECONDS
    last_word: float = FINAL_OUTPUT_SECONDS
    drain: float = 4.0
    grace: float = 2.0
    endless: int = MAX_LINE_BYTES
    most: int = MAX_OUTPUT_BYTES
    rest: int = REST_BYTES


@dataclass(slots=True)
class LimitWatch:
    """What decides that a running session has to stop, and how far stopping has got.

    `dollars` are what it may spend; `spent` says why it may take
    no more, and since when it has been so. `waited` are the seconds that it waited for
    a person: no working time.
    """

    limits: Limits
    draining: asyncio.Event
    active: Configuration = field(default_factory=Configuration)
    dollars: float | None = None
    began: float = field(default_factory=time.monotonic)
    heard: float = field(default_factory=time.monotonic)
    waited: float = 0.0
    result_at: float | None = None
    draining_at: float | None = None
    status: Status | None = None
    reason: str = ""
    disk_full: bool = False
    lingered: bool = False
    spent: tuple[str, float] | None = None
    steps: list[Callable[[], None]] = field(default_factory=list)
    next_step: float = 0.0
    far: int = 0
    grace: float | None = None
    spans: TurnSpans = field(default_factory=TurnSpans)

    def halt(self, reason: str, run: EngineRun) -> None:
        """Begin to stop because of a halt, which waits less long for each step."""
        self.grace = min(self.limits.grace, HALT_GRACE_SECONDS)
        self.stop(Status.STOPPED, reason, run)

    def take(self, result: IngestResult) -> None:
        """Take note of what some lines brought."""
        self.heard = time.monotonic()
        if self.spent is not None:  # it goes on although it may not
            self.spent = self.spent[0], 0.0
        if result.spent is not None:
            self.spans.take(result.spent)
        if result.spent is not None and self.spent is None:
            why = overspend_reason(result.spent, turns=self.active.max_turns, dollars=self.dollars)
            self.spent = (why, self.heard + self.limits.last_word) if why else None
        if result.finished is not None:
            self.result_at = self.heard

    def stop(self, status: Status, reason: str, run: EngineRun) -> None:
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

    def flooded(self, printed: int, run: EngineRun) -> None:
        """End at once an engine that has printed too much: each second is more of it."""
        if printed > self.limits.most:
            size = f"{self.limits.most / 2**20:g} MB"
            self.stop(Status.FAILED, f"The session printed more than {size}.", run)
            self.steps = [run.kill]

    def enough(self, position: int) -> bool:
        """Whether of an engine that was stopped, and has ended, no more is to be read."""
        if self.status is None:
            return False
        self.far = self.far or position + self.limits.rest
        return position >= self.far

    def due(self, *, unfinished: int = 0) -> tuple[Status, str] | None:
        """Say which limit the session has passed; `unfinished` is the size of its last line."""
        now = time.monotonic()
        if self.result_at is not None:
            return None
        if self.spent is not None and now >= self.spent[1]:
            return Status.FAILED, self.spent[0]
        if unfinished > self.limits.endless:
            size = f"{self.limits.endless / 2**20:g} MB"
            return Status.FAILED, f"The session printed a line longer than {size}."
        overdue = self.overdue(now)
        return (Status.TIMED_OUT, overdue) if overdue else None

    def overdue(self, now: float) -> str | None:
        """Say which time has passed."""
        if now - self.began - self.waited > self.active.session_seconds:
            return f"The session ran longer than {self.active.session_seconds:g} s."
        if now - self.heard > self.active.idle_seconds:
            return f"The session printed nothing for {self.active.idle_seconds:g} s."
        return None

    def drained(self) -> bool:
        """Whether a session had its time to end by itself since the supervisor was asked to."""
        self.draining_at = self.draining_at or time.monotonic()
        return time.monotonic() - self.draining_at >= self.limits.drain

    def linger(self, run: EngineRun) -> None:
        """End an engine that has given its result but does not end."""
        now = time.monotonic()
        if self.result_at is None or self.lingered or self.status is not None:
            return
        if now - self.result_at > self.limits.after_result or self.overdue(now):
            self.lingered = True
            self.steps = [run.terminate, run.kill]
            self.next_step = 0.0
