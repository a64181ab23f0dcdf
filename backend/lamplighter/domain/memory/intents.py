"""Intents: what a decision writes of memories, as plain values; they are stored in their order."""

from dataclasses import dataclass
from typing import Final, NamedTuple

from lamplighter.domain.memory.memory import Candidate, Memory, MemoryId
from lamplighter.domain.memory.review import ReviewKind

NEW: Final = MemoryId(0)
"""The memory that the same intents insert: its row gets a number when it is stored."""

REVIVES: Final = "revives"
CONTRADICTS: Final = "contradicts"
CONTRADICTED: Final = "contradicted"
REINFORCED: Final = "reinforced"
REPORT_CAUSES: Final = ("created", "learned", REINFORCED)
"""The causes of changes by observations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeOrigin:
    """Why a memory changed: the cause, the actor, the reason, and the batch."""

    cause: str
    actor: str
    reason: str = ""
    session_id: int | None = None
    review_id: int | None = None
    act_id: int | None = None


class MemoryChange(NamedTuple):
    """What a memory was and is, and why; `before` None is a new one, `after` None a deleted one."""

    before: Memory | None
    after: Memory | None
    why: ChangeOrigin


class NewMemory(NamedTuple):
    """A candidate that becomes a memory, and why."""

    candidate: Candidate
    why: ChangeOrigin


class Repeat(NamedTuple):
    """A memory that was said once more: counted, without a version, a history or a change."""

    memory_id: MemoryId


@dataclass(frozen=True, slots=True)
class MemoryLink:
    """A relation of a memory to another one; `act_id` is the operator's act that it is part of."""

    memory_id: MemoryId
    target_id: MemoryId
    what: str
    session_id: int | None = None
    act_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewOpening:
    """A question to a person: is `before` true, or the claim that memory `new_id` holds now?

    Where the claim contradicts it, it becomes `after`: its history names the review, and the
    two are linked. `text` are the words of the claim, `why` says who made it and the reason.
    """

    kind: ReviewKind
    before: Memory
    after: Memory
    new_id: MemoryId
    text: str
    why: ChangeOrigin


class RelationshipReview(NamedTuple):
    """A question to a person: does a memory state this relationship? `memory` None is the new one.

    `text` is the relationship, `reason` says who found it.
    """

    memory: Memory | None
    text: str
    reason: str


Intent = NewMemory | MemoryChange | Repeat | MemoryLink | ReviewOpening | RelationshipReview
