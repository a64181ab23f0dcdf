"""Intents: the writes to memories that a decision returns, as plain values, stored in order."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final, NamedTuple

from lamplighter.domain.fields import Field
from lamplighter.domain.memory.memory import Candidate, Memory, MemoryId
from lamplighter.domain.memory.review import ReviewKind

NEW: Final = MemoryId(0)
"""Placeholder for the memory that the same intents insert; storing assigns the row's number."""

REVIVES: Final = "revives"
CONTRADICTS: Final = "contradicts"
CONTRADICTED: Final = "contradicted"
REINFORCED: Final = "reinforced"
REPORT_CAUSES: Final = ("created", "learned", REINFORCED)
"""The causes of changes that come from observations."""


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
    """A memory before and after a change, and why; `before` or `after` None: new, deleted."""

    before: Memory | None
    after: Memory | None
    why: ChangeOrigin


class NewMemory(NamedTuple):
    """A candidate that becomes a memory, and the origin of the change."""

    candidate: Candidate
    why: ChangeOrigin


class Repeat(NamedTuple):
    """A repeated observation of a memory: counted, without a version, history or change."""

    memory_id: MemoryId


@dataclass(frozen=True, slots=True)
class MemoryLink:
    """A relation of a memory to another one; `act_id` is the operator's act that made it."""

    memory_id: MemoryId
    target_id: MemoryId
    what: str
    session_id: int | None = None
    act_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewOpening:
    """A question to a person: is `before` true, or the claim that memory `new_id` states now?

    If the claim contradicts `before`, that memory becomes `after`: its history names the review,
    and the two are linked. `text` is the text of the claim, `why` its author and the reason.
    """

    kind: ReviewKind
    before: Memory
    after: Memory
    new_id: MemoryId
    text: str
    why: ChangeOrigin


class RelationshipReview(NamedTuple):
    """A question to a person: does a memory state this relationship? `memory` None is the new one.

    `text` is the relationship, `reason` names its author.
    """

    memory: Memory | None
    text: str
    reason: str


Intent = NewMemory | MemoryChange | Repeat | MemoryLink | ReviewOpening | RelationshipReview


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRecord:
    """One change of a memory; `before` and `after` hold its values: None of one that did not exist.

    Entries of earlier versions hold fewer. `review_id` is the review whose resolution made the
    change, or that a contradiction opened; `act_id` is the act on many memories that the change
    belongs to.
    """

    id: int
    memory_id: Annotated[MemoryId, Field(public=False)]
    version: int
    at: datetime
    actor: str
    session_id: int | None
    cause: str
    reason: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    review_id: Annotated[int | None, Field(public=False)] = None
    act_id: Annotated[int | None, Field(public=False)] = None
