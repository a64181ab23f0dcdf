"""The limits of a session, and how a session beyond them is ended."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from lamplighter.domain.configuration import Configuration
from lamplighter.domain.sessions.cost import overspend_reason
from lamplighter.domain.sessions.session import Status
from lamplighter.engines import EngineRun
from lamplighter.supervisor.run.tracing import TurnSpans
from lamplighter.usecases.ingest.context import IngestResult

AFTER_RESULT_SECONDS: Final = 30.0
HALT_GRACE_SECONDS: Final = 2.0
HALT_INGEST_SECONDS: Final = 1.0
FINAL_OUTPUT_SECONDS: Final = 1.0
MAX_LINE_BYTES: Final = 64 * 2**20
MAX_OUTPUT_BYTES: Final = 128 * 2**20
REST_BYTES: Final = 4 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How a session is ended: the seconds of each step, and how much of its output is read.

    The session is interrupted, then terminated, then killed, `grace` seconds apart. An unfinished
    line of more than `endless` bytes, or more than `most` bytes in all, ends the session, because
    they fill the disk. Of a stopped session's output, at most the next `rest` bytes are ingested:
    reading all may take hours.
    """

    after_result: float = AFTER_RESULT_SECONDS
    last_word: float = FINAL_OUTPUT_SECONDS
    drain: float = 4.0
    grace: float = 2.0
    endless: int = MAX_LINE_BYTES
    most: int = MAX_OUTPUT_BYTES
    rest: int = REST_BYTES


@dataclass(slots=True)
class StopSteps:
    """The remaining steps to end an engine, the mildest first, and the time of the next one."""

    remaining: list[Callable[[], None]] = field(default_factory=list)
    next_at: float = 0.0

    def begin(self, *steps: Callable[[], None]) -> None:
        """Replace the remaining steps; the first one is due at once."""
        self.remaining, self.next_at = list(steps), 0.0

    def advance(self, grace: float) -> None:
        """Take the next step if it is due; the step after it is due in `grace` seconds."""
        if self.remaining and time.monotonic() >= self.next_at:
            self.remaining.pop(0)()
            self.next_at = time.monotonic() + grace


@dataclass(slots=True)
class SessionClock:
    """The times of a running session, by the monotonic clock in seconds.

    `waited` is how long it waited for a person, which is not working time.
    """

    began: float = field(default_factory=time.monotonic)
    last_output: float = field(default_factory=time.monotonic)
    waited: float = 0.0
    result_at: float | None = None
    draining_at: float | None = None

    def overdue(self, active: Configuration, now: float) -> str | None:
        """Return the time limit that has passed, as text; None if none has."""
        if now - self.began - self.waited > active.session_seconds:
            return f"The session ran longer than {active.session_seconds:g} s."
        if now - self.last_output > active.idle_seconds:
            return f"The session printed nothing for {active.idle_seconds:g} s."
        return None


@dataclass(slots=True)
class LimitWatch:
    """Decides whether a running session has to stop, and tracks the steps of stopping it.

    `dollars` is its budget; `spent` is the reason why it may spend no more, and the time from which
    it is ended for that. `last_position` is where reading the output of a stopped engine ends.
    """

    limits: Limits
    draining: asyncio.Event
    active: Configuration = field(default_factory=Configuration)
    dollars: float | None = None
    clock: SessionClock = field(default_factory=SessionClock)
    status: Status | None = None
    reason: str = ""
    disk_full: bool = False
    lingered: bool = False
    spent: tuple[str, float] | None = None
    steps: StopSteps = field(default_factory=StopSteps)
    grace: float | None = None
    last_position: int = 0
    spans: TurnSpans = field(default_factory=TurnSpans)
    halted_at: float = 0.0

    @property
    def leaves_rest(self) -> bool:
        """Whether a halt is long enough ago to leave further markers in the session's file."""
        return bool(self.halted_at) and time.monotonic() - self.halted_at > HALT_INGEST_SECONDS

    def halt(self, reason: str, run: EngineRun) -> None:
        """Start to stop because of a halt, with a shorter wait for each step."""
        self.grace = min(self.limits.grace, HALT_GRACE_SECONDS)
        self.halted_at = self.halted_at or time.monotonic()
        self.stop(Status.STOPPED, reason, run)

    def take(self, result: IngestResult) -> None:
        """Record the contents of some lines."""
        self.clock.last_output = time.monotonic()
        if self.spent is not None:  # the engine continues although it is over its limit
            self.spent = self.spent[0], 0.0
        if result.spent is not None:
            self.spans.take(result.spent)
        if result.spent is not None and self.spent is None:
            why = overspend_reason(result.spent, turns=self.active.max_turns, dollars=self.dollars)
            self.spent = (why, self.clock.last_output + self.limits.last_word) if why else None
        if result.finished is not None:
            self.clock.result_at = self.clock.last_output

    def stop(self, status: Status, reason: str, run: EngineRun) -> None:
        """Start to stop: interrupt, then terminate, then kill."""
        if self.status is None:
            self.status, self.reason = status, reason
            self.steps.begin(run.interrupt, run.terminate, run.kill)

    def press_on(self) -> None:
        """Take the next step after the time of the last one."""
        self.steps.advance(self.grace or self.limits.grace)

    def flooded(self, printed: int, run: EngineRun) -> None:
        """Kill at once an engine that has printed too much, because it continues to print."""
        if printed > self.limits.most:
            size = f"{self.limits.most / 2**20:g} MB"
            self.stop(Status.FAILED, f"The session printed more than {size}.", run)
            self.steps.remaining = [run.kill]

    def enough(self, position: int) -> bool:
        """Whether enough output has been read of an engine that was stopped and has ended."""
        if self.status is None:
            return False
        self.last_position = self.last_position or position + self.limits.rest
        return position >= self.last_position

    def due(self, *, unfinished: int = 0) -> tuple[Status, str] | None:
        """Return the limit that a session has exceeded; `unfinished` is its last line's size."""
        now = time.monotonic()
        if self.clock.result_at is not None:
            return None
        if self.spent is not None and now >= self.spent[1]:
            return Status.FAILED, self.spent[0]
        if unfinished > self.limits.endless:
            size = f"{self.limits.endless / 2**20:g} MB"
            return Status.FAILED, f"The session printed a line longer than {size}."
        overdue = self.clock.overdue(self.active, now)
        return (Status.TIMED_OUT, overdue) if overdue else None

    def drained(self) -> bool:
        """Whether a session's time to end by itself has passed since the supervisor's stop."""
        self.clock.draining_at = self.clock.draining_at or time.monotonic()
        return time.monotonic() - self.clock.draining_at >= self.limits.drain

    def linger(self, run: EngineRun) -> None:
        """End an engine that has reported its result but does not end."""
        now = time.monotonic()
        if self.clock.result_at is None or self.lingered or self.status is not None:
            return
        if now - self.clock.result_at > self.limits.after_result or self.clock.overdue(
            self.active, now
        ):
            self.lingered = True
            self.steps.begin(run.terminate, run.kill)
