"""Reviews: two claims, and what a person decides on them."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from lamplighter.api.common_shapes import Limit, Name, Seq
from lamplighter.api.memory.shapes import HistoryEntry, Memory
from lamplighter.domain.memory.memory import MAX_OBSERVATION_CHARS, Category

Scope = Annotated[str, Meta(max_length=500)]
Text = Annotated[str, Meta(max_length=MAX_OBSERVATION_CHARS)]


class Review(Struct):
    """One review, beside both memories as they are now; null is one that is gone."""

    id: int
    kind: Literal["conflict", "possible"]
    state: Literal["open", "resolved"]
    reason: str
    said: str
    service: str | None
    category: Category
    session_id: int | None
    old: Memory | None
    new: Memory | None
    resolution: Literal["keep_old", "keep_new", "both", "merge", "dismiss", "gone"] | None
    resolved_by: str | None
    resolved_at: str | None
    created_at: str
    version: int


class ReviewChange(HistoryEntry):
    """One change of a memory that a resolution made."""

    memory_id: int


class ReviewCase(Review):
    """One review with who said each claim, who was told it, and what its resolution changed."""

    sources: dict[Literal["old", "new"], list[dict[str, Any]]]
    exposed: dict[Literal["old", "new"], list[int]]
    exposed_counts: dict[Literal["old", "new"], int]
    changes: list[ReviewChange]


class ReviewPage(Struct):
    """Some reviews, and how many there are in all."""

    items: list[Review]
    next: str | None
    seq: int
    total: int


class ReviewQuery(Struct):
    """Which reviews: those that wait the longest come first, else the newest."""

    state: Literal["open", "resolved", "all"] = "open"
    service: Name | None = None
    kind: Literal["conflict", "possible"] | None = None
    session: Seq | None = None
    cursor: str | None = None
    limit: Limit = 50


class ResolutionIn(Struct):
    """What a person decides; `both` needs a scope, `merge` the words that hold both.

    `keep_new` may say the new one in other words.
    """

    resolution: Literal["keep_old", "keep_new", "both", "merge", "dismiss"]
    old_scope: Scope = ""
    new_scope: Scope = ""
    observation: Text = ""


class Voice(Struct):
    """A session that confirmed, contradicted or was told something; null is a person."""

    session_id: int | None
    at: str | None


class Tally(Struct):
    """How often, and by or to which sessions: the last 20, newest first."""

    count: int
    sessions: list[Voice]


class Tie(Struct):
    """A link to or from another memory; `observation` is null when that was deleted."""

    what: str
    direction: Literal["to", "from"]
    memory_id: int
    observation: str | None
    active: bool
    session_id: int | None
    at: str


class Ties(Struct):
    """How a memory is linked: the last 20 links, newest first."""

    count: int
    items: list[Tie]


class OpenCase(Struct):
    """An open review, and the other memory of it."""

    id: int
    kind: str
    memory_id: int
    said: str
    at: str


class OpenCases(Struct):
    """The open reviews of a memory, newest first."""

    count: int
    items: list[OpenCase]


class Belief(Struct):
    """One memory and what it rests on.

    `inactive_from` is when it falls below 0.30 unless confirmed; null when it does not fade.
    """

    memory: Memory
    confirmed: Tally
    contradicted: Tally
    told: Tally
    links: Ties
    reviews: OpenCases
    inactive_from: str | None


class AuditPage(Struct):
    """What is believed on a topic, the active first; `service` when the topic is one."""

    topic: str
    service: str | None
    states: dict[str, int]
    items: list[Belief]
    next: str | None
    seq: int


class AuditQuery(Struct):
    """On which service or word."""

    topic: Annotated[str, Meta(min_length=1, max_length=500, pattern=r"^[^\x00]*$")]
    cursor: str | None = None
    limit: Limit = 50
