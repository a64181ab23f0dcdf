"""A run of the organizer: its state, and what it counts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Final

from lamplighter.domain.fields import Field
from lamplighter.domain.memory.memory import Memory

HEARTBEAT_SECONDS: Final = 1.0
"""How often a working run shows that it is alive, and how far it is."""

ABANDONED_AFTER: Final = timedelta(seconds=15)
"""A run without a heartbeat for so long is continued by the next one."""

SCHEDULE: Final = "schedule"
OPERATOR: Final = "operator"
COUNTED: Final = (
    "raw",
    "duplicates",
    "compressed",
    "digests",
    "facts",
    "known_facts",
    "conflicts",
    "raw_after",
    "distilled_after",
)
"""What a run counts: memories that were not distilled before and after it, near-duplicates,
compressed episodes, digests, extracted facts, facts that were known, and facts that contradict;
and those that are distilled after it."""

OPTIONAL_COUNTED: Final = (
    "searched",
    "scanned",
    "scanned_facts",
    "verified",
    "refuted",
    "model_requests",
    "model_failures",
    "model_rejected",
    "model_skipped",
    "model_facts",
    "model_relationships",
    "model_dropped",
    "model_tokens",
    "model_microdollars",
)
"""What a run counts where there is any: episodes that stay and were searched for facts; texts of
other sources that it read and facts in them; facts that a source confirmed or refuted; requests to
a model, those without an answer, invalid answers, batches without a selection, facts that only the
model selected, relationships that it proposes to a person, those that were dropped, and what that
used."""

GROWTH: Final = 100
"""How many more memories that are not distilled make a run due before its time."""


STAGES: Final = ("compare", "duplicates", "extract", "scan", "compress", "verify")
"""The stages of a run in their order."""


Progress = Callable[[str, int, int], None]
"""Receives the stage, how much of it is done, and how much there is; 0 where nobody knows."""


def no_progress(stage: str, done: int, total: int) -> None:
    """Show nothing."""


@dataclass(slots=True)
class StageProgress:
    """How far a run is; each step is reported too."""

    report: Progress = no_progress
    stage: str = STAGES[0]
    done: int = 0
    total: int = 0

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Move to a position."""
        self.stage, self.done, self.total = stage, done, total
        self.report(stage, done, total)


class RunState(StrEnum):
    """State of a run; a person may undo a completed one. The supervisor begins a queued one."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"


@dataclass(frozen=True, slots=True, kw_only=True)
class OrganizerRun:
    """One run. `act_id` is its act in the journal, None where it changed nothing.

    While it works, `stage` is one of STAGES with how much of it is done; a total of 0 is unknown.
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

    `memory` is None where it was deleted. `what` is the kind of the link; the numbers are those
    of the memories that were set aside, or that the fact was extracted from; `samples` are some.
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

    After an interval, or when undistilled memories grow faster than distilled ones (four-tier-
    memory-schema). Never without an interval, nor after a run that a person has undone.
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
