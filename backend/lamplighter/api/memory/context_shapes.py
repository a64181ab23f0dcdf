"""The context of a session: the memories of the next prompt, and the effect of a change."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from lamplighter.api.common_shapes import ShortText, Tier
from lamplighter.domain.clients.agent import MOST_CONTEXT
from lamplighter.domain.text import PROJECT_CHARS


class ContextQuery(Struct):
    """Options of the next prompt; `exclude` and `as_of` change its memories.

    `compare_to` is `now` or the id of a session to compare with. `profile=agent` takes `agent`,
    `project`, `query`, `limit` and `budget`, `profile=project` takes `project` and `budget`;
    the rest is for `ops`.
    """

    tier: Tier = 1
    services: ShortText | None = None
    budget: Annotated[int, Meta(ge=0, le=1_000_000)] | None = None
    profile: Literal["ops", "agent", "project"] = "ops"
    sections: Literal["all", "operational"] = "all"
    dry_run: bool = False
    exclude: Annotated[str, Meta(max_length=4000)] | None = None
    compare_to: ShortText | None = None
    as_of: ShortText | None = None
    agent: Annotated[str, Meta(max_length=64)] | None = None
    project: Annotated[str, Meta(max_length=PROJECT_CHARS)] | None = None
    query: Annotated[str, Meta(max_length=2000)] | None = None
    limit: Annotated[int, Meta(ge=0, le=MOST_CONTEXT)] | None = None


class ContextDiffOut(Struct):
    """The added and removed memory lines of two prompts, and a unified diff."""

    against: str
    added: list[str]
    removed: list[str]
    text: str


class PlacedMemoryOut(Struct):
    """An included or excluded memory of the next prompt: its position, cost and reason.

    `rank` counts from 0 by priority, `left` is the budget left at this rank; `position` is its
    place among the included memories.
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


class ContextOut(Struct):
    """The next prompt, with the reason for each included or excluded memory."""

    text: str
    tokens: int
    budget: int
    in_force: int
    total: int
    system: str
    prompt: str
    included: list[PlacedMemoryOut]
    excluded: list[PlacedMemoryOut]
    seq: int
    as_of: str | UnsetType = UNSET
    diff: ContextDiffOut | UnsetType = UNSET
