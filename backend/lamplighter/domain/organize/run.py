"""A run of the organizer: its state, and what it counts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Final

from lamplighter.domain.fields import Field

HEARTBEAT_SECONDS: Final = 2.0
ABANDONED_AFTER: Final = timedelta(seconds=15)
"""A run without a heartbeat for so long is continued by the next one."""

COUNTED: Final = (
    "raw",
    "duplicates",
    "compressed",
    "digests",
    "facts",
    "known_facts",
    "conflicts",
    "raw_after",
)
"""What a run counts: memories that were not distilled before and after it, near-duplicates,
compressed episodes, digests, extracted facts, facts that were known, and facts that contradict."""


class RunState(StrEnum):
    """State of a run; a person may undo a completed one."""

    RUNNING = "running"
    COMPLETED = "completed"


@dataclass(frozen=True, slots=True, kw_only=True)
class OrganizerRun:
    """One run. `act_id` is its act in the journal, None where it changed nothing."""

    id: int
    state: RunState
    trigger: str
    started_at: datetime
    heartbeat_at: Annotated[datetime, Field(public=False)]
    ended_at: datetime | None = None
    act_id: int | None = None
    owner: Annotated[str, Field(public=False)] = ""
    counts: Mapping[str, int] = field(default_factory=dict)

    def is_abandoned(self, now: datetime) -> bool:
        """Return whether the process of a running run has ended."""
        return self.state is RunState.RUNNING and self.heartbeat_at <= now - ABANDONED_AFTER
