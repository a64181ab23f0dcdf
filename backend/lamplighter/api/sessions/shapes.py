"""Sessions, their requests, output and prompts."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

from lamplighter.api.common_shapes import (
    Limit,
    ListPage,
    Name,
    PageQuery,
    Seq,
    ShortText,
    Tier,
    UseOut,
    page_of,
    public_shape,
)
from lamplighter.domain.sessions.handoff import Escalation, Finding
from lamplighter.domain.sessions.markers import MarkerResult
from lamplighter.domain.sessions.session import (
    RequestState,
    Session,
    SessionRequest,
    Status,
    Trigger,
)


@public_shape(Session, markers_left=("stopping", bool))
class SessionOut(Struct):
    """One session; `host` is the place of its output, "machine:directory".

    `waiting_since` is the start of its wait for approval. `outcome` describes the result; it is
    empty while the session runs and if the status has all information.
    """

    waiting_since: str | UnsetType | None = UNSET


class SessionPage(ListPage):
    """A page of sessions, newest first, with the others of their chains and contradictions."""

    items: list[SessionOut]
    linked: list[SessionOut]
    contradicted: dict[str, int]


class SessionQuery(Struct):
    """Filters for sessions."""

    status: Status | None = None
    tier: Annotated[int, Meta(ge=0, le=3)] | None = None
    trigger: Trigger | None = None
    service: Name | None = None
    since: ShortText | None = field(default=None, name="from")
    cursor: str | None = None
    limit: Limit = 50


class SessionIn(Struct):
    """A request for a session."""

    tier: Tier = 1
    services: Annotated[list[Name], Meta(min_length=1, max_length=200)] | None = None
    prompt: Annotated[str, Meta(max_length=100_000, pattern=r"\S")] | UnsetType = UNSET
    dry_run: bool = False
    engine: Annotated[str, Meta(min_length=1, max_length=40)] | None = None


class EngineOut(Struct):
    """One engine: whether it runs rounds, its default `tiers`, and why it cannot run.

    `program` is the external program that it needs, if found, with its `version`.
    """

    name: str
    usual: bool
    tiers: list[Tier]
    problem: str | None
    program: str | None
    version: str | None


class SpendingOut(Struct):
    """Spending limits in dollars, null without a limit; `day_spent` covers 24 hours."""

    session: float | None
    chain: float | None
    day: float | None
    day_spent: float


class EnginesOut(Struct):
    """Engines, models and session limits."""

    engines: list[EngineOut]
    models: dict[str, str | None]
    caps: SpendingOut
    max_turns: int
    max_tier: int
    session_seconds: float
    idle_seconds: float


@public_shape(SessionRequest)
class SessionRequestOut(Struct):
    """A request for a session, and its position in the queue."""


RequestPage = page_of(SessionRequestOut, "A page of requests, newest first.", name="RequestPage")


class RequestQuery(PageQuery):
    """Filters for requests."""

    state: RequestState | None = None


class LogQuery(Struct):
    """The byte to read forward or backward from, and the approximate number of entries.

    `shown` shortens tool calls and their results, `whole` does not, `raw` returns the file's lines.
    """

    after: Seq = 0
    before: Seq | None = None
    form: Literal["shown", "whole", "raw"] = "shown"
    limit: Annotated[int, Meta(ge=1, le=2000)] = 500


class LogUsage(Struct):
    """The usage of a session up to the end of a turn; an unknown cost is null.

    With an id in `turn` it is that of one turn: its input, and the output of one block of its
    answer. Its output tokens and its costs are estimates, `input_usd` the cost of the input alone.
    """

    turns: int
    turn: str | None
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    input_usd: float | None


class LogEntry(Struct):
    """An entry of a session's log; `offset` and `index` are its position.

    `at` is the time when it was read, null if unknown; `usage` belongs to the kinds `turn` and
    `finished`.
    """

    offset: int
    index: int
    kind: str
    text: str
    at: str | None
    usage: LogUsage | None


class LogOut(Struct):
    """A part of a session's log: from `start` to `next`; `more` if entries follow.

    `elsewhere` names the home that has the output if that is another home.
    """

    items: list[LogEntry]
    start: int
    next: int
    more: bool
    complete: bool
    elsewhere: str | None
    seq: int


@public_shape(MarkerResult, ("what", "state"))
class MarkerOut(Struct):
    """One marker and its outcome."""


MarkerPage = page_of(MarkerOut, "The markers of a session in the order of its output.")


class SessionSearchHitOut(Struct):
    """A search result in its present state; `observation` is null if the memory was deleted."""

    memory_id: int
    rank: int
    observation: str | None


class SessionSearchOut(Struct):
    """A memory search of a session, and its results."""

    id: int
    tool: str
    query: str
    hits: list[SessionSearchHitOut]
    at: str


SessionSearchPage = page_of(SessionSearchOut, "The searches of a session, oldest first.")


class PromptMemoryOut(Struct):
    """An included or excluded memory of a prompt, with the reason."""

    memory_id: int
    version: int
    position: int | None
    included: bool
    why: str
    line: str


class UpdateMemoryOut(Struct):
    """An included or excluded memory of an updated prompt, with the reason."""

    memory_id: int
    version: int
    position: int | None
    why: str


class PromptUpdateOut(Struct):
    """An update of the memory block while the session was running."""

    at: str
    query: str
    injected: str
    tokens: int
    memories: list[UpdateMemoryOut]


class PromptOut(Struct):
    """The prompt of a session, byte for byte: at its start, and its updates."""

    system: str
    injected: str
    prompt: str
    tokens: int
    budget: int
    memories: list[PromptMemoryOut]
    retold: list[PromptUpdateOut]
    seq: int


@public_shape(Escalation)
class EscalationOut(Struct):
    """An escalation to the next tier or to a person, and its outcome."""


@public_shape(Finding)
class FindingOut(Struct):
    """A cause that an investigation found."""


class ChainOut(Struct):
    """The sessions of a chain, the first one first, and its outcome."""

    items: list[SessionOut]
    handoffs: list[EscalationOut]
    findings: list[FindingOut]
    uses: list[UseOut]
    status: Status
    reason: str
    cost_usd: float | None
    seq: int
