"""Reviews: two claims of which at most one may be true, and a person's decision about them."""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final

from lamplighter.domain.errors import InvalidField
from lamplighter.domain.fields import Field
from lamplighter.domain.memory.memory import (
    ACTIVE_THRESHOLD,
    MAX_TAGS,
    Category,
    Edit,
    InactiveReason,
    Memory,
    MemoryId,
    apply_edit,
)

SUPERSEDES: Final = "supersedes"
MERGED_INTO: Final = "merged_into"

REVIVABLE: Final = (
    InactiveReason.LOW,
    InactiveReason.OPERATOR,
    InactiveReason.SUPERSEDED,
    InactiveReason.REVIEW,
)
"""Reasons for being inactive from which a person may restore a memory."""

DELETION: Final = "deletion"
"""The resolver recorded in the reviews of a deleted memory."""


MAX_POSSIBLE: Final = 20
"""The maximum number of possible conflicts of one service that are open for review."""

POSSIBLE_FULL: Final = (
    f"{MAX_POSSIBLE} possible conflicts are open for review; "
    "further ones are learned without a review"
)


class ReviewKind(StrEnum):
    """Kind of a review: in a conflict the old claim lost confidence, in a possible one it did not.

    A fact was extracted from episodes and is inactive until a person has reviewed it. A failed
    verification is a memory and a source that refutes it. A file review is about a directory's file
    that changed while its memory changed: both sides are that memory. A relationship is one that a
    model found in a memory.
    """

    CONFLICT = "conflict"
    POSSIBLE = "possible"
    FACT = "fact"
    VERIFICATION = "verification"
    FILE = "file"
    RELATIONSHIP = "relationship"


OF_ONE_MEMORY: Final = (ReviewKind.VERIFICATION, ReviewKind.FILE, ReviewKind.RELATIONSHIP)
"""Reviews of one memory and a claim as text."""


class ReviewState(StrEnum):
    """The state of a review."""

    OPEN = "open"
    RESOLVED = "resolved"


class Resolution(StrEnum):
    """Outcome of a review; `gone` means that one of the memories was deleted."""

    KEEP_OLD = "keep_old"
    KEEP_NEW = "keep_new"
    BOTH = "both"
    MERGE = "merge"
    DISMISS = "dismiss"
    GONE = "gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """A review: the old memory, the memory with the new claim, and the text of the claim."""

    id: int
    kind: ReviewKind
    state: ReviewState
    reason: str
    observation: Annotated[str, Field(column="said")]
    service: str | None
    category: Category
    session_id: int | None
    old_id: MemoryId
    new_id: MemoryId
    resolution: Resolution | None
    resolved_by: str | None
    resolved_at: datetime | None
    created_at: datetime
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewAnswer:
    """A person's decision, and the text that some decisions need."""

    resolution: Resolution
    old_scope: str = ""
    new_scope: str = ""
    observation: str = ""

    @property
    def gives_back(self) -> bool:
        """Whether the old memory gets back the confidence that contradictions subtracted."""
        return self.resolution in (Resolution.KEEP_OLD, Resolution.BOTH, Resolution.MERGE)


@dataclass(frozen=True, slots=True)
class ReviewChange:
    """The change of one memory by a decision, and the reason."""

    before: Memory
    after: Memory
    reason: str


@dataclass(frozen=True, slots=True)
class ReviewOutcome:
    """Results of a decision: the changed memories, and the link between them."""

    moves: tuple[ReviewChange, ...] = ()
    link: tuple[MemoryId, MemoryId, str] | None = None


def validate_review_answer(
    answer: ReviewAnswer, kind: ReviewKind = ReviewKind.CONFLICT
) -> list[InvalidField]:
    """Return an error for each missing or unused field of an answer."""
    paired = (Resolution.BOTH, Resolution.MERGE)
    if kind in OF_ONE_MEMORY and answer.resolution in paired:
        return [InvalidField("resolution", "needs two memories; this review is about one")]
    both, merge = (answer.resolution is each for each in (Resolution.BOTH, Resolution.MERGE))
    keeps = kind is not ReviewKind.RELATIONSHIP and answer.resolution is Resolution.KEEP_NEW
    scoped = answer.old_scope or answer.new_scope
    missing_scope = "is missing; send old_scope or new_scope to state when each memory is true"
    worded = f"is only for {Resolution.MERGE} and {Resolution.KEEP_NEW}"
    rules = (
        ("old_scope", answer.old_scope and not both, f"is only for {Resolution.BOTH}"),
        ("new_scope", answer.new_scope and not both, f"is only for {Resolution.BOTH}"),
        ("old_scope", both and not scoped, missing_scope),
        ("observation", answer.observation and not (merge or keeps), worded),
        ("observation", merge and not answer.observation, "is missing; send the merged text"),
    )
    return [InvalidField(name, text) for name, broken, text in rules if broken]


def resolve_review(
    review: Review, answer: ReviewAnswer, old: Memory, new: Memory, *, now: datetime
) -> ReviewOutcome:
    """Return the outcome of an answer; `old` has its confidence restored if that applies."""
    origin = f"review {review.id}"
    if review.kind is ReviewKind.RELATIONSHIP:
        return ReviewOutcome()  # the graph applies the decision
    if review.kind is ReviewKind.VERIFICATION:
        return _resolve_verification(answer, old, origin, now=now)
    if review.kind is ReviewKind.FILE:
        text = answer.observation or review.observation
        used = answer.resolution is Resolution.KEEP_NEW
        return ReviewOutcome(_reword_memory(old, text, origin, now=now) if used else ())
    match answer.resolution:
        case Resolution.KEEP_OLD:
            moves = _keep_memory(old, new, origin, now=now)
            return ReviewOutcome(moves, (old.id, new.id, SUPERSEDES))
        case Resolution.KEEP_NEW:
            worded = _reword_memory(new, answer.observation, origin, now=now)
            moves = _keep_memory(worded[-1].after if worded else new, old, origin, now=now)
            return ReviewOutcome((*worded, *moves), (new.id, old.id, SUPERSEDES))
        case Resolution.BOTH:
            why = f"{origin}: both are true"
            admitted = _admit_fact(new, why, now=now)
            now_true = admitted[-1].after if admitted else new
            scopes = ((old, answer.old_scope), (now_true, answer.new_scope))
            scoped = (_scope_memory(each, text, why, now=now) for each, text in scopes if text)
            return ReviewOutcome((*admitted, *scoped))
        case Resolution.MERGE:
            confidence = max(old.confidence, new.confidence, ACTIVE_THRESHOLD)
            edit = Edit(
                observation=answer.observation,
                confidence=confidence,
                active=True,
                pinned=old.pinned or new.pinned,
                tags=tuple(dict.fromkeys((*old.tags, *new.tags)))[:MAX_TAGS],
            )
            merged = ReviewChange(
                old, apply_edit(old, edit, now=now), f"{origin}: merged with memory {new.id}"
            )
            moves = (merged, *_supersede(new, f"{origin}: merged into memory {old.id}"))
            return ReviewOutcome(moves, (new.id, old.id, MERGED_INTO))
    return ReviewOutcome(_admit_fact(new, f"{origin}: no conflict", now=now))


def _resolve_verification(
    answer: ReviewAnswer, memory: Memory, origin: str, *, now: datetime
) -> ReviewOutcome:
    """Correct or supersede the memory that a source refuted; other answers leave it unchanged."""
    if answer.resolution is not Resolution.KEEP_NEW:
        return ReviewOutcome()
    if worded := _reword_memory(memory, answer.observation, origin, now=now):
        return ReviewOutcome(worded)
    return ReviewOutcome(_supersede(memory, f"{origin}: refuted by its verification"))


def add_scope(observation: str, scope: str) -> str:
    """Return an observation with the scope in which it is true."""
    return f"{observation} ({scope})"


def _admit_fact(new: Memory, why: str, *, now: datetime) -> tuple[ReviewChange, ...]:
    """Activate an extracted fact that was inactive until this review."""
    if new.inactive_reason is not InactiveReason.REVIEW:
        return ()
    return (ReviewChange(new, apply_edit(new, Edit(active=True), now=now), why),)


def _scope_memory(memory: Memory, scope: str, why: str, *, now: datetime) -> ReviewChange:
    edit = Edit(observation=add_scope(memory.observation, scope))
    return ReviewChange(memory, apply_edit(memory, edit, now=now), f"{why}; scope: {scope}")


def _reword_memory(
    memory: Memory, text: str, reason: str, *, now: datetime
) -> tuple[ReviewChange, ...]:
    if text in ("", memory.observation):
        return ()
    after = apply_edit(memory, Edit(observation=text), now=now)
    return (ReviewChange(memory, after, f"{reason}: its wording was corrected"),)


def _keep_memory(
    memory: Memory, other: Memory, text: str, *, now: datetime
) -> tuple[ReviewChange, ...]:
    aside = _supersede(other, f"{text}: superseded by memory {memory.id}")
    if memory.active or memory.inactive_reason not in REVIVABLE:
        return aside
    why, edit = f"{text}: it supersedes memory {other.id}", Edit(active=True)
    if memory.confidence < ACTIVE_THRESHOLD:
        why = f"{why}; its confidence is raised to {ACTIVE_THRESHOLD:.2f}"
        edit = replace(edit, confidence=ACTIVE_THRESHOLD)
    return (ReviewChange(memory, apply_edit(memory, edit, now=now), why), *aside)


def _supersede(memory: Memory, why: str) -> tuple[ReviewChange, ...]:
    if memory.inactive_reason is InactiveReason.SUPERSEDED:
        return ()
    version, reason = memory.version + 1, InactiveReason.SUPERSEDED
    return (
        ReviewChange(
            memory, replace(memory, active=False, inactive_reason=reason, version=version), why
        ),
    )
