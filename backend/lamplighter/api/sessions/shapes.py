"""Sessions, the requests for them, and what they print and are told."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

from lamplighter.api.common_shapes import Limit, Name, Seq, Tier, Words
from lamplighter.domain.sessions.handoff import EscalationState
from lamplighter.domain.sessions.session import OutcomeState, RequestState, Status, Trigger


class Session(Struct, kw_only=True):
    """One session; `host` is where its output is, "machine:directory".

    `waiting_since` tells since when it waits for approval. `outcome` is what it achieved, in
    words; it is empty while the session runs and where its status says all there is.
    """

    waiting_since: str | UnsetType | None = UNSET

    id: int
    external_id: str | None
    agent: str | None
    project: str
    tier: int
    engine: str
    model: str | None
    trigger: Trigger
    status: Status
    outcome: str
    outcome_state: OutcomeState
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
    markers_left: int
    stopping: bool
    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    budget_usd: float | None
    resumed: int
    directory: str | None
    host: str | None
    output_pending: bool
    version: int


class SessionPage(Struct):
    """Some sessions, newest first, the others of their chains, and what they contradicted."""

    items: list[Session]
    next: str | None
    seq: int
    linked: list[Session]
    contradicted: dict[str, int]


class SessionQuery(Struct):
    """Which sessions."""

    status: Status | None = None
    tier: Annotated[int, Meta(ge=0, le=3)] | None = None
    trigger: Trigger | None = None
    service: Name | None = None
    since: Words | None = field(default=None, name="from")
    cursor: str | None = None
    limit: Limit = 50


class SessionIn(Struct):
    """A session that somebody wants now."""

    tier: Tier = 1
    services: Annotated[list[Name], Meta(min_length=1, max_length=200)] | None = None
    prompt: Annotated[str, Meta(max_length=100_000, pattern=r"\S")] | UnsetType = UNSET
    dry_run: bool = False
    engine: Annotated[str, Meta(min_length=1, max_length=40)] | None = None


class Engine(Struct):
    """One engine: whether rounds are made by it, `tiers` it is usual for, and why it cannot run.

    `program` is the program of others that it needs, where one is found; `version` is its.
    """

    name: str
    usual: bool
    tiers: list[Tier]
    problem: str | None
    program: str | None
    version: str | None


class Spending(Struct):
    """How many dollars may be spent, None without a limit; `day_spent` counts for 24 hours."""

    session: float | None
    chain: float | None
    day: float | None
    day_spent: float


class Engines(Struct):
    """What can run a session, and what a session may take."""

    engines: list[Engine]
    models: dict[str, str | None]
    caps: Spending
    max_turns: int
    max_tier: int
    session_seconds: float
    idle_seconds: float


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
    engine: str | None
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
    """From which byte of the session's file on, or back from which, and about how many entries.

    `shown` cuts what tools were asked and answered, `whole` does not, `raw` is the file's lines.
    """

    after: Seq = 0
    before: Seq | None = None
    form: Literal["shown", "whole", "raw"] = "shown"
    limit: Annotated[int, Meta(ge=1, le=2000)] = 500


class LogEntry(Struct):
    """One entry of a session's log; `offset` and `index` say where it stands."""

    offset: int
    index: int
    kind: str
    text: str


class Log(Struct):
    """A part of a session's log: from `start` to `next`, and whether there is more that way.

    `elsewhere` names the home that holds the output where it is not this one.
    """

    items: list[LogEntry]
    start: int
    next: int
    more: bool
    complete: bool
    elsewhere: str | None
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
    next: str | None
    seq: int


class SearchHit(Struct):
    """A memory that a search showed, as it is now; `observation` is null once it is deleted."""

    memory_id: int
    rank: int
    observation: str | None


class Search(Struct):
    """What a session asked of the memories, and what it was shown."""

    id: int
    tool: str
    query: str
    hits: list[SearchHit]
    at: str


class SearchPage(Struct):
    """The searches of a session, oldest first."""

    items: list[Search]
    next: str | None
    seq: int


class Told(Struct):
    """One memory in or out of a prompt, and why."""

    memory_id: int
    version: int
    position: int | None
    included: bool
    why: str
    line: str


class Placed(Struct):
    """One memory in or out of what was told anew, and why."""

    memory_id: int
    version: int
    position: int | None
    why: str


class Retold(Struct):
    """What a session was told from then on, in the place of what it was told before."""

    at: str
    query: str
    injected: str
    tokens: int
    memories: list[Placed]


class Prompt(Struct):
    """What a session was told, byte for byte: at its beginning, and anew while it ran."""

    system: str
    injected: str
    prompt: str
    tokens: int
    budget: int
    memories: list[Told]
    retold: list[Retold]
    seq: int


class Escalation(Struct):
    """What a session handed to the next tier, or to a person, and what became of it."""

    id: int
    session_id: int
    child_id: int | None
    tier: int
    service: str
    reason: str
    state: EscalationState
    why: str
    created_at: str
    closed_at: str | None
    version: int


class Chain(Struct):
    """The sessions that handed on to each other, the root first, and how it ended."""

    items: list[Session]
    handoffs: list[Escalation]
    findings: list[dict[str, Any]]
    uses: list[dict[str, Any]]
    status: Status
    reason: str
    cost_usd: float | None
    seq: int
