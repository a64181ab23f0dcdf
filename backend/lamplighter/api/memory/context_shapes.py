"""The context of a session: what the next prompt includes, and how a change alters it."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from lamplighter.api.common_shapes import Tier, Words
from lamplighter.domain.clients.agent import MOST_CONTEXT
from lamplighter.domain.project import PROJECT_CHARS


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
