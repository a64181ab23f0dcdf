"""The shapes that go in and out: what OpenAPI tells, and what bodies and queries must be."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from lamplighter.domain.event import Level
from lamplighter.domain.memory import Category, Kind
from lamplighter.domain.session import RequestState, Status, Trigger

Limit = Annotated[int, Meta(ge=1, le=200)]
Name = Annotated[str, Meta(max_length=200, pattern=r"^[^\x00]*$")]
Seq = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Words = Annotated[str, Meta(max_length=500, pattern=r"^[^\x00]*$")]
Tier = Annotated[int, Meta(ge=1, le=3)]


class Problem(Struct):
    """An error, in the form of RFC 9457."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[dict[str, str]]
    current: dict[str, Any] | UnsetType = UNSET


class Memory(Struct):
    """One memory."""

    id: int
    service: str | None
    category: Category
    observation: str
    confidence: float
    active: bool
    created_at: str
    updated_at: str
    session_id: int | None
    tier: int
    kind: Kind
    trust: Literal["trusted", "observed", "unverified"]
    source: str
    source_ref: str | None
    title: str
    tags: list[str]
    project: str
    scope: Literal["project", "global"]
    topic_key: str | None
    inactive_reason: str | None
    pinned: bool
    duplicate_count: int
    revision_count: int
    version: int


class MemoryPage(Struct):
    """Some memories, and how many there are in all."""

    items: list[Memory]
    next: str | None
    seq: int
    total: int


class MemoryQuery(Struct):
    """Which memories, in which order."""

    q: Words | None = None
    service: Name | None = None
    category: Category | None = None
    kind: Kind | None = None
    project: Name | None = None
    scope: Literal["project", "global"] | None = None
    state: Literal["active", "inactive", "all"] = "all"
    sort: Literal["confidence", "updated", "created", "service"] = "confidence"
    cursor: str | None = None
    limit: Limit = 50


class FacetQuery(Struct):
    """Which memories are counted."""

    q: Words | None = None
    service: Name | None = None
    category: Category | None = None
    kind: Kind | None = None
    project: Name | None = None
    scope: Literal["project", "global"] | None = None
    state: Literal["active", "inactive", "all"] = "all"


class Facets(Struct):
    """How many memories there are by service, category and state."""

    services: list[dict[str, Any]]
    categories: list[dict[str, Any]]
    states: dict[str, int]
    seq: int


class MemoryIn(Struct):
    """A memory that an operator adds."""

    category: Category
    observation: str
    service: str | None = None
    confidence: float = 0.7
    title: str = ""
    tags: Annotated[list[Annotated[str, Meta(max_length=100)]], Meta(max_length=20)] = []


class MemoryEdit(Struct):
    """What an operator changes; what is left out stays."""

    observation: str | UnsetType = UNSET
    confidence: float | UnsetType = UNSET
    category: Category | UnsetType = UNSET
    service: str | UnsetType | None = UNSET
    active: bool | UnsetType = UNSET
    pinned: bool | UnsetType = UNSET


class Bulk(Struct):
    """One act on several memories."""

    ids: Annotated[
        list[Annotated[int, Meta(ge=1, le=2**63 - 1)]], Meta(min_length=1, max_length=1000)
    ]
    action: Literal["delete", "confidence", "deactivate"]
    value: float | None = None


class Changed(Struct):
    """Which memories were changed."""

    changed: int
    ids: list[int]
    seq: int


class HistoryEntry(Struct):
    """One change of a memory."""

    version: int
    at: str
    actor: str
    session_id: int | None
    cause: str
    reason: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None


class HistoryPage(Struct):
    """The changes of a memory, newest first."""

    items: list[HistoryEntry]
    next: str | None
    seq: int


class PageQuery(Struct):
    """Where a list goes on, and how many rows of it."""

    cursor: str | None = None
    limit: Limit = 50


class Event(Struct):
    """One event."""

    id: int
    level: Level
    service: str | None
    text: str
    session_id: int | None
    tier: int
    source: str
    created_at: str
    version: int


class EventPage(Struct):
    """Some events, newest first."""

    items: list[Event]
    next: str | None
    seq: int


class EventQuery(Struct):
    """Which events; `level` may be repeated."""

    level: list[Level] = []
    service: Name | None = None
    session: Seq | None = None
    q: Words | None = None
    cursor: str | None = None
    limit: Limit = 50


class EventIn(Struct):
    """An event that an operator reports."""

    level: Level
    text: Annotated[str, Meta(min_length=1, max_length=2000, pattern=r"\S")]
    service: Name | None = None


class Session(Struct):
    """One session."""

    id: int
    external_id: str | None
    agent: str | None
    project: str
    tier: int
    engine: str
    model: str | None
    trigger: Trigger
    status: Status
    reason: str
    prompt: str
    parent_id: int | None
    services: list[str] | None
    dry_run: bool
    started_at: str
    ended_at: str | None
    exit_code: int | None
    response: str
    summary: str
    cost_usd: float | None
    turns: int | None
    duration_ms: int | None
    log_offset: int
    learned: int
    reinforced: int
    events: int
    ignored: int
    stopping: bool
    version: int


class SessionPage(Struct):
    """Some sessions, newest first."""

    items: list[Session]
    next: str | None
    seq: int


class SessionQuery(Struct):
    """Which sessions."""

    status: Status | None = None
    tier: Annotated[int, Meta(ge=0, le=3)] | None = None
    trigger: Trigger | None = None
    cursor: str | None = None
    limit: Limit = 50


class SessionIn(Struct):
    """A session that somebody wants now."""

    tier: Tier = 1
    services: Annotated[list[Name], Meta(min_length=1, max_length=200)] | None = None
    prompt: Annotated[str, Meta(max_length=100_000, pattern=r"\S")] | UnsetType = UNSET
    dry_run: bool = False


class Request(Struct):
    """A wish for a session, and its place in the queue."""

    id: int
    state: RequestState
    position: int | None
    session_id: int | None
    tier: int
    services: list[str] | None
    prompt: str
    dry_run: bool
    trigger: Trigger
    created_at: str
    version: int


class RequestPage(Struct):
    """Some requests, newest first."""

    items: list[Request]
    next: str | None
    seq: int


class RequestQuery(Struct):
    """Which requests."""

    state: RequestState | None = None
    cursor: str | None = None
    limit: Limit = 50


class LogQuery(Struct):
    """From which byte of the session's file, and about how many entries."""

    after: Seq = 0
    limit: Annotated[int, Meta(ge=1, le=2000)] = 500


class LogEntry(Struct):
    """One entry of a session's log; `offset` and `index` say where it stands."""

    offset: int
    index: int
    kind: str
    text: str


class Log(Struct):
    """A part of a session's log; `next` is where to go on from."""

    items: list[LogEntry]
    next: int
    more: bool
    complete: bool
    seq: int


class Marker(Struct):
    """What became of one marker."""

    id: int
    session_id: int
    offset: int
    index: int
    line: int
    what: Literal["memory", "event", "cooldown", "escalate"]
    state: Literal["taken", "ignored", "refused"]
    outcome: str
    reason: str
    text: str
    service: str | None
    category: str | None
    memory_id: int | None
    event_id: int | None
    created_at: str
    version: int


class MarkerPage(Struct):
    """The markers of a session in the order they were printed."""

    items: list[Marker]
    next: None
    seq: int


class Empty(Struct):
    """An empty object: the address says it all."""


class Nothing(Struct):
    """No parameters."""


class Told(Struct):
    """One memory in or out of a prompt, and why."""

    memory_id: int
    version: int
    position: int | None
    included: bool
    why: str
    line: str


class Prompt(Struct):
    """What a session was told, byte for byte."""

    system: str
    injected: str
    prompt: str
    tokens: int
    budget: int
    memories: list[Told]
    seq: int


class ServicePage(Struct):
    """The services we operate, and how each was when last looked at."""

    items: list[dict[str, Any]]
    next: None
    path: str
    problems: list[dict[str, Any]]
    seq: int


class ContextQuery(Struct):
    """What the next session would be told."""

    tier: Tier = 1
    services: Words | None = None
    budget: Annotated[int, Meta(ge=0, le=1_000_000)] | None = None
    profile: Literal["ops"] = "ops"
    sections: Literal["all", "operational"] = "all"
    dry_run: bool = False


class Context(Struct):
    """What the next session would be told, and why each memory is in or out."""

    text: str
    tokens: int
    budget: int
    included: list[dict[str, Any]]
    excluded: list[dict[str, Any]]
    seq: int


class ChangesQuery(Struct):
    """After which number, and how many."""

    after: Seq = 0
    limit: Annotated[int, Meta(ge=1, le=1000)] = 500


class Change(Struct):
    """One change of the feed."""

    seq: int
    entity: str
    id: int
    op: Literal["created", "updated", "deleted", "batch"]
    version: int
    row: dict[str, Any] | None
    at: str


class ChangesPage(Struct):
    """Changes, oldest first; or `reset` when those after `after` are no longer all kept."""

    seq: int
    items: list[Change] | UnsetType = UNSET
    next: int | UnsetType = UNSET
    reset: bool | UnsetType = UNSET


class StreamQuery(Struct):
    """After which number the feed goes on."""

    after: Seq | None = None


class Supervisor(Struct):
    """What the supervisor does now."""

    state: Literal["running", "idle", "away"]
    pid: int | None
    heartbeat_at: str | None
    next_round_at: str | None
    session_id: int | None
    interval_seconds: float | None
    engine: str | None
    dry_run: bool
    revision: int
    version: str
    seq: int


class Health(Struct):
    """Whether this process lives and can work."""

    status: str
    detail: str | msgspec.UnsetType = UNSET
