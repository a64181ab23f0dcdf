"""The review: two claims of which at most one may be true, and what a person decides on them."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from lamplighter.domain.memory import Category, MemoryId

DELETION: Final = "deletion"
"""Who resolved the reviews of a memory that was deleted."""


class ReviewKind(StrEnum):
    """How sure we are: in a conflict the old claim lost confidence, a possible one cost nothing."""

    CONFLICT = "conflict"
    POSSIBLE = "possible"


class ReviewState(StrEnum):
    """Whether a review waits for a person."""

    OPEN = "open"
    RESOLVED = "resolved"


class Resolution(StrEnum):
    """What became of a review; `gone` is nobody's decision: one of the memories was deleted."""

    KEEP_OLD = "keep_old"
    KEEP_NEW = "keep_new"
    BOTH = "both"
    MERGE = "merge"
    DISMISS = "dismiss"
    GONE = "gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """One case: the old memory, the one that holds the new claim, and the words it was said in."""

    id: int
    kind: ReviewKind
    state: ReviewState
    old_id: MemoryId
    new_id: MemoryId
    service: str | None
    category: Category
    reason: str
    said: str
    session_id: int | None
    resolution: Resolution | None
    resolved_by: str | None
    resolved_at: datetime | None
    created_at: datetime
    version: int
