"""Runs of the organizer: their state and counts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Final

from lamplighter.domain.fields import Field
from lamplighter.domain.memory.memory import Memory

HEARTBEAT_SECONDS: Final = 1.0
"""The interval at which an active run records its heartbeat and progress."""

ABANDONED_AFTER: Final = timedelta(seconds=15)
"""A run without a heartbeat for this long is continued by the next one."""

SCHEDULE: Final = "schedule"
OPERATOR: Final = "operator"
COUNTED: Final = (
    *("raw", "duplicates", "compressed", "digests", "facts"),
    *("known_facts", "conflicts", "raw_after", "distilled_after"),
)
"""The counts of a run.

Undistilled memories before and after it, near-duplicates, compressed episodes, digests, extracted
facts, already known facts, and contradicting facts; and the distilled memories after it.
"""

OPTIONAL_COUNTED: Final = (
    *("searched", "scanned", "scanned_facts", "verified", "refuted"),
    *("model_requests", "model_failures", "model_rejected", "model_skipped", "model_facts"),
    *("model_relationships", "model_dropped", "model_tokens", "model_microdollars"),
)
"""The counts of a run that are omitted if 0.

Episodes that stay and were searched for facts; texts of other sources that were read and facts in
them; facts that a source confirmed or refuted; requests to a model, those without an answer,
invalid answers, batches without a selection, facts that only the model selected, its relationships
proposed to a person, those dropped, and its usage.
"""

GROWTH: Final = 100
"""The number of additional undistilled memories that makes a run due early."""


STAGES: Final = ("compare", "duplicates", "extract", "scan", "compress", "verify")
"""The stages of a run, in order."""


Progress = Callable[[str, int, int], None]
"""Receives the stage, the amount done, and the total; 0 if unknown."""


def no_progress(stage: str, done: int, total: int) -> None:
    """Ignore the progress."""


@dataclass(slots=True)
class StageProgress:
    """The progress of a run; each step is reported too."""

    report: Progress = no_progress
    stage: str = STAGES[0]
    done: int = 0
    total: int = 0

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Update the progress."""
        self.stage, self.done, self.total = stage, done, total
        self.report(stage, done, total)


class RunState(StrEnum):
    """State of a run; a person may undo a completed one. The supervisor starts a queued one."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"


@dataclass(frozen=True, slots=True, kw_only=True)
class OrganizerRun:
    """One run. `act_id` is its act in the journal, None if the run changed nothing.

    While the run works, `stage` is one of STAGES with its progress; a total of 0 is unknown.
    """

    id: int
    state: RunState
    trigger: str
    started_at: datetime
    heartbeat_at: Annotated[datetime, Field(public=False)]
    ended_at: datetime | None = None
    act_id: int | None = None
    owner: Annotated[str, Field(public=False)] = ""
    stage: str | None = None
    stage_done: int = 0
    stage_total: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)

    def waits(self, now: datetime) -> bool:
        """Return whether a process may begin or continue the run: it is queued or abandoned."""
        return self.state is RunState.QUEUED or self.heartbeat_at <= now - ABANDONED_AFTER


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySubstitute:
    """A memory and those that it replaced in a run: digest, fact, or newer duplicate.

    `memory` is None if it was deleted. `what` is the kind of the link; the numbers are those of the
    replaced memories, or of the sources of the fact; `samples` are some of them.
    """

    id: int
    memory: Memory | None
    what: str
    replaced: tuple[int, ...]
    samples: tuple[Memory, ...] = ()


def is_due(
    last: OrganizerRun | None,
    *,
    undone: bool,
    interval: timedelta | None,
    raw: int,
    distilled: int,
    now: datetime,
) -> bool:
    """Return whether a scheduled run is due.

    After an interval, or when undistilled memories grow faster than distilled ones
    (four-tier-memory-schema). Never without an interval, nor after a run that a person has undone.
    """
    if interval is None or undone:
        return False
    if last is None:
        return raw > 0
    if last.ended_at is None:
        return False
    more = raw - last.counts.get("raw_after", 0)
    verified = distilled - last.counts.get("distilled_after", 0)
    return now - last.ended_at >= interval or more >= max(GROWTH, verified)
