"""Reviews: two claims, and what a person decides on them."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from lamplighter.api.shapes.kinds import Limit, Name, Seq
from lamplighter.api.shapes.memories import HistoryEntry, Memory
from lamplighter.domain.memory import MAX_OBSERVATION_CHARS, Category

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
