"""The memory: one curated piece of knowledge."""

from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any, Final, NewType

from lamplighter.domain.fields import Field, declared_fields
from lamplighter.domain.text import content_hash, normalize_project

MemoryId = NewType("MemoryId", int)

INITIAL_CONFIDENCE: Final = 0.7
GRACE_PERIOD: Final = timedelta(days=30)
WEEK: Final = timedelta(weeks=1)
WEEKLY_DECAY: Final = 0.1
ACTIVE_THRESHOLD: Final = 0.3
REINFORCEMENT: Final = 0.1
CONTRADICTION: Final = 0.2
MAX_OBSERVATION_CHARS: Final = 50_000
MAX_TAGS: Final = 20
LONG_MARKER_CHARS: Final = 2_000
GENERAL: Final = "general"
OPERATIONS: Final = "ops"
PROJECT: Final = "project"
GLOBAL: Final = "global"
NO_KEY: Final = ""
NEVER: Final = datetime.max.replace(tzinfo=UTC)
"""The value of `expires_at` in an edit that removes the expiry."""


class Category(StrEnum):
    """The subject of a memory: five operational categories, eight of knowledge."""

    TIMING = "timing"
    DEPENDENCY = "dependency"
    BEHAVIOR = "behavior"
    REMEDIATION = "remediation"
    MAINTENANCE = "maintenance"
    DECISION = "decision"
    DISCOVERY = "discovery"
    BUGFIX = "bugfix"
    PATTERN = "pattern"
    ARCHITECTURE = "architecture"
    CONFIG = "config"
    LEARNING = "learning"
    PREFERENCE = "preference"


OPERATIONAL: Final = tuple(Category)[:5]


class MemoryKind(StrEnum):
    """Kinds of memories, by storage and recall."""

    EPISODIC = "episodic"
    SEMANTIC = "semantic"
    PROJECT = "project"
    PROCEDURAL = "procedural"


class Trust(StrEnum):
    """The source of a memory."""

    TRUSTED = "trusted"
    OBSERVED = "observed"
    UNVERIFIED = "unverified"


class Source(StrEnum):
    """How a memory was created."""

    MARKER = "marker"
    OPERATOR = "operator"
    OWNER = "owner"
    CLIENT = "client"
    CAPTURED = "captured"
    EXTRACTED = "extracted"
    IMPORTED = "imported"
    NOTEBOOK = "notebook"


RAW_SOURCES: Final = (Source.OWNER, Source.CAPTURED, Source.IMPORTED, Source.EXTRACTED)
"""Sources without a review: their memories are unverified and undistilled.

Text that an owner typed is `owner`; output of a tool or a page is `captured`.
"""


class InactiveReason(StrEnum):
    """Why a memory is inactive."""

    LOW = "low"
    SUPERSEDED = "superseded"
    ARCHIVED = "archived"
    EXPIRED = "expired"
    DELETED = "deleted"
    OPERATOR = "operator"
    REVIEW = "review"


REVERSIBLE: Final = (InactiveReason.LOW, InactiveReason.OPERATOR)
"""Reasons after which a higher confidence alone makes a memory active again."""

KINDS: Final = {
    Category.REMEDIATION: MemoryKind.PROCEDURAL,
    Category.MAINTENANCE: MemoryKind.PROCEDURAL,
    Category.PREFERENCE: MemoryKind.PROCEDURAL,
    Category.PATTERN: MemoryKind.PROCEDURAL,
    Category.LEARNING: MemoryKind.PROCEDURAL,
    Category.ARCHITECTURE: MemoryKind.PROJECT,
    Category.CONFIG: MemoryKind.PROJECT,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A proposed memory, before the comparison with existing ones.

    `session_id` is the session that reports the observation, None for a person; `tier` is 0 for a
    person, 1 to 3 for a session. With an `inactive_reason` the candidate becomes an inactive
    memory.
    """

    category: Category
    service: str | None
    observation: str
    tier: int
    session_id: int | None
    confidence: float = INITIAL_CONFIDENCE
    source: Source = Source.MARKER
    source_ref: str | None = None
    trust: Trust = Trust.OBSERVED
    title: str = ""
    tags: tuple[str, ...] = ()
    project: str = OPERATIONS
    scope: str = PROJECT
    topic_key: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict, hash=False)
    expires_at: datetime | None = None
    inactive_reason: InactiveReason | None = None
    typed: bool = True
    """Whether the client set a type; a turn of a chat without a type or key is an episode."""

    @property
    def distilled(self) -> bool:
        """Return whether the text is distilled: a client's text is, if it has a topic key."""
        if self.source is Source.CLIENT:
            return self.topic_key is not None
        return self.source not in RAW_SOURCES

    @property
    def kind(self) -> MemoryKind:
        """Return the kind of a memory by its category; undistilled memories are episodes."""
        if self.source is Source.EXTRACTED:
            return MemoryKind.SEMANTIC
        untyped = not self.typed and self.topic_key is None
        episode = untyped or self.source in (Source.OWNER, Source.CAPTURED, Source.IMPORTED)
        return MemoryKind.EPISODIC if episode else kind_of(self.category)


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """A stored memory. Its row, JSON, history and undo follow from this declaration.

    `distilled` marks reviewed text: captured text is not included in a prompt without a request.
    Counters (`duplicate_count`, `last_seen_at`, `access_count`) are not changes.
    """

    id: Annotated[MemoryId, Field(constant=True)]
    service: Annotated[str | None, Field(history=True, undo="service", editable=True)]
    category: Annotated[Category, Field(history=True, undo="category", editable=True)]
    observation: Annotated[str, Field(history=True, undo="text", editable=True)]
    confidence: Annotated[float, Field(history=True, editable=True)]
    active: Annotated[bool, Field(history=True, editable=True)]
    created_at: Annotated[datetime, Field(constant=True)]
    updated_at: Annotated[datetime, Field(history=True)]
    session_id: Annotated[int | None, Field(constant=True)]
    tier: Annotated[int, Field(constant=True)]
    kind: Annotated[MemoryKind, Field(history=True)] = MemoryKind.SEMANTIC
    trust: Annotated[Trust, Field(history=True, undo="trust")] = Trust.OBSERVED
    source: Annotated[Source, Field(constant=True)] = Source.MARKER
    source_ref: Annotated[str | None, Field(constant=True)] = None
    title: Annotated[str, Field(history=True, undo="title", editable=True)] = ""
    tags: Annotated[tuple[str, ...], Field(history=True, undo="tags", editable=True)] = ()
    project: Annotated[str, Field(history=True, undo="project", editable=True)] = OPERATIONS
    scope: Annotated[
        str, Field(history=True, undo="scope", editable=True, options=(PROJECT, GLOBAL))
    ] = PROJECT
    topic_key: Annotated[str | None, Field(history=True, undo="topic key", editable=True)] = None
    inactive_reason: Annotated[InactiveReason | None, Field(history=True)] = None
    pinned: Annotated[bool, Field(history=True, undo="pin", editable=True)] = False
    metadata: Annotated[dict[str, Any], Field(history=True, undo="metadata", editable=True)] = (
        field(default_factory=dict, hash=False)
    )
    expires_at: Annotated[datetime | None, Field(history=True, undo="expiry", editable=True)] = None
    verified_at: Annotated[datetime | None, Field(history=True, undo="verification")] = None
    duplicate_count: int = 1
    revision_count: Annotated[int, Field(history=True)] = 1
    last_seen_at: datetime | None = None
    access_count: Annotated[int, Field(constant=True)] = 0
    accessed_at: Annotated[datetime | None, Field(constant=True)] = None
    distilled: Annotated[bool, Field(history=True)] = True
    version: int = 1
    content_hash: Annotated[str, Field(public=False)] = ""
    decayed_weeks: Annotated[int, Field(history=True, public=False)] = 0


MEMORY_FIELDS: Final = declared_fields(Memory)
CANDIDATE_FIELDS: Final = tuple(
    each.name for each in fields(Candidate) if each.name in MEMORY_FIELDS
)
"""The fields of a candidate that are copied to its memory."""
HISTORY_FIELDS: Final = tuple(name for name, each in MEMORY_FIELDS.items() if each.declared.history)
"""The fields of a history entry; entries of earlier versions have fewer."""
EDITABLE_FIELDS: Final = tuple(
    name for name, each in MEMORY_FIELDS.items() if each.declared.editable
)
NONE_WORDS: Final = {"service": GENERAL, "topic_key": NO_KEY, "expires_at": NEVER}
"""What an edit says to take a value away: its None leaves the field as it is."""

RESTORED: Final = "restored"
"""The cause of a change that restored a memory from the trash."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A person's changes to a memory; None leaves a field as it is.

    `service` GENERAL makes a memory true of all services; `topic_key` NO_KEY and `expires_at` NEVER
    remove the value.
    """

    observation: str | None = None
    confidence: float | None = None
    category: Category | None = None
    service: str | None = None
    active: bool | None = None
    pinned: bool | None = None
    title: str | None = None
    tags: tuple[str, ...] | None = None
    project: str | None = None
    scope: str | None = None
    topic_key: str | None = None
    metadata: dict[str, Any] | None = field(default=None, hash=False)
    expires_at: datetime | None = None


def clamp(confidence: float) -> float:
    """Limit a confidence to [0, 1], rounded to two decimals."""
    return round(min(1.0, max(0.0, confidence)), 2)


def is_unreviewed(memory: Memory) -> bool:
    """Return whether no person or client has reviewed the memory and no source has verified it.

    An episode that the organizer has searched for facts is distilled, but still unverified.
    """
    return not memory.distilled or memory.trust is Trust.UNVERIFIED


def kind_of(category: Category) -> MemoryKind:
    """Return the kind of the memories of this category."""
    return KINDS.get(category, MemoryKind.SEMANTIC)


def new_memory(candidate: Candidate, *, now: datetime) -> Memory:
    """Return the memory that a candidate becomes; storing assigns its number."""
    confidence = clamp(candidate.confidence)
    low = InactiveReason.LOW if confidence < ACTIVE_THRESHOLD else None
    reason = candidate.inactive_reason or low
    values = {name: getattr(candidate, name) for name in CANDIDATE_FIELDS}
    return Memory(
        **{**values, "confidence": confidence, "inactive_reason": reason},
        id=MemoryId(0),
        active=reason is None,
        created_at=now,
        updated_at=now,
        content_hash=content_hash(candidate.observation),
        kind=candidate.kind,
        distilled=candidate.distilled,
    )


def with_confidence(memory: Memory, confidence: float) -> Memory:
    """Set a confidence; below 0.30 a memory turns inactive (SPEC-0015, Confidence Scoring).

    Raising the confidence reactivates a memory only if low confidence or an operator made it
    inactive; superseded and deleted memories stay inactive.
    """
    confidence = clamp(confidence)
    if confidence < ACTIVE_THRESHOLD:
        reason = memory.inactive_reason or InactiveReason.LOW
        return replace(memory, confidence=confidence, active=False, inactive_reason=reason)
    if memory.inactive_reason in (None, *REVERSIBLE):
        return replace(memory, confidence=confidence, active=True, inactive_reason=None)
    return replace(memory, confidence=confidence)


def reinforce(memory: Memory, *, now: datetime) -> Memory:
    """Raise the confidence of a confirmed memory by 0.1, up to 1.0 (SPEC-0015, Reinforcement)."""
    raised = with_confidence(memory, memory.confidence + REINFORCEMENT)
    return replace(raised, updated_at=now, decayed_weeks=0, version=memory.version + 1)


def contradict(memory: Memory) -> Memory:
    """Subtract 0.2 from a memory that a session contradicted (SPEC-0015, Memory Contradiction).

    `updated_at` does not change, because the memory was not confirmed.
    """
    lowered = with_confidence(memory, memory.confidence - CONTRADICTION)
    return replace(lowered, version=memory.version + 1)


def apply_edit(memory: Memory, edit: Edit, *, now: datetime) -> Memory:
    """Apply a person's edit. Only text, confidence, category and service refresh `updated_at`."""
    changed = _apply_given(memory, edit)
    if edit.confidence is not None:
        changed = with_confidence(changed, edit.confidence)
    if edit.active is not None and edit.active != changed.active:
        changed = _set_active(changed, active=edit.active, now=now)
    if changed == memory and edit.confidence is None:
        return memory
    touched = any(
        each is not None
        for each in (edit.observation, edit.confidence, edit.category, edit.service)
    )
    if touched:
        changed = replace(changed, updated_at=now, decayed_weeks=0)
    return replace(changed, version=memory.version + 1)


def _apply_given(memory: Memory, edit: Edit) -> Memory:
    changes: dict[str, Any] = {}
    for name in EDITABLE_FIELDS:
        value = getattr(edit, name)
        by_rule = name in ("confidence", "active")
        if value is None or by_rule or (value == "" and name in ("project", "scope")):
            continue
        changes[name] = None if value == NONE_WORDS.get(name, ...) else value
    if "category" in changes:
        changes["kind"] = kind_of(changes["category"])
    return replace(memory, **changes)


def _set_active(memory: Memory, *, active: bool, now: datetime) -> Memory:
    if active and memory.confidence < ACTIVE_THRESHOLD:
        return memory  # only a higher confidence reactivates the memory
    if active and memory.inactive_reason is InactiveReason.EXPIRED:
        memory = replace(memory, expires_at=None, updated_at=now)  # its lifetime restarts
    reason = None if active else InactiveReason.OPERATOR
    return replace(memory, active=active, inactive_reason=reason)


@dataclass(frozen=True, slots=True)
class Reach:
    """The memories of a project, by its normalized name, and the global ones of all projects.

    The rule exists in two forms: for a row, and for a query. `columns` is any object with the
    columns of a memory by name that compares like SQLAlchemy's columns.
    """

    project: str

    def holds(self, memory: Memory) -> bool:
        """Whether a memory is in this reach."""
        return memory.scope == GLOBAL or normalize_project(memory.project) == self.project

    def condition(self, columns: Any) -> Any:
        """Return the SQL condition for the rows in this reach."""
        return (columns.project == self.project) | (columns.scope == GLOBAL)
