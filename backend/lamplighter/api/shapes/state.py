"""Events, the feed, and how things stand."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from lamplighter.api.shapes.kinds import Limit, Seq, Tier, Words
from lamplighter.domain.agent import MOST_CONTEXT, PROJECT_CHARS


class Problem(Struct):
    """An error, in the form of RFC 9457."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[dict[str, str]]
    current: dict[str, Any] | UnsetType = UNSET


class PageQuery(Struct):
    """Where a list goes on, and how many rows of it."""

    cursor: str | None = None
    limit: Limit = 50


class Empty(Struct):
    """An empty object: the address says it all."""


class Nothing(Struct):
    """No parameters."""


class ContextQuery(Struct):
    """What the next session would be told; with `without` or `as_of`: what it would be then.

    `against` is `now` or the number of a session: what the answer is compared with.
    Of `profile=agent` are `agent`, `project`, `query`, `limit` and `budget`, of `profile=project`
    `project` and `budget`; the rest is of `ops`.
    """

    tier: Tier = 1
    services: Words | None = None
    budget: Annotated[int, Meta(ge=0, le=1_000_000)] | None = None
    profile: Literal["ops", "agent", "project"] = "ops"
    sections: Literal["all", "operational"] = "all"
    dry_run: bool = False
    without: Annotated[str, Meta(max_length=4000)] | None = None
    against: Words | None = None
    as_of: Words | None = None
    agent: Annotated[str, Meta(max_length=64)] | None = None
    project: Annotated[str, Meta(max_length=PROJECT_CHARS)] | None = None
    query: Annotated[str, Meta(max_length=2000)] | None = None
    limit: Annotated[int, Meta(ge=0, le=MOST_CONTEXT)] | None = None


class Diff(Struct):
    """What an answer's memories add to another's and take from it, and a unified diff."""

    against: str
    added: list[str]
    removed: list[str]
    text: str


class Placed(Struct):
    """A memory in or out of the next prompt: its place, its cost and why.

    `rank` counts from 0 in the order of choice, `left` is what was left of the budget then;
    `position` is its place among those told.
    """

    id: int
    version: int
    service: str | None
    category: str
    confidence: float
    line: str
    tokens: int
    why: str
    circle: Literal["focus", "neighbour", "general", "other"]
    rank: int
    left: int
    position: int | UnsetType = UNSET


class Context(Struct):
    """What the next session would be told, and why each memory is in or out."""

    text: str
    tokens: int
    budget: int
    in_force: int
    total: int
    system: str
    prompt: str
    included: list[Placed]
    excluded: list[Placed]
    seq: int
    as_of: str | UnsetType = UNSET
    diff: Diff | UnsetType = UNSET


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
    ping: Annotated[int, Meta(ge=1, le=60)] | None = None


class Supervisor(Struct):
    """What the supervisor does now; `waiting` is how many sessions wait for approval beside it.

    `database` says why nothing can be saved now, where the file was deleted, replaced or damaged.
    """

    state: Literal["running", "idle", "away"]
    pid: int | None
    heartbeat_at: str | None
    next_round_at: str | None
    session_id: int | None
    waiting: int
    interval_seconds: float | None
    engine: str | None
    dry_run: bool
    revision: int
    version: str
    database: str
    seq: int


class Health(Struct):
    """Whether this process lives and can work."""

    status: str
    detail: str | msgspec.UnsetType = UNSET
