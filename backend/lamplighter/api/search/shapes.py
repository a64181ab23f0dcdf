"""Search parameters and results."""

from datetime import datetime
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from lamplighter.api.common_shapes import Name, ShortText
from lamplighter.api.memory.shapes import MemoryOut
from lamplighter.api.services.event_shapes import EventOut
from lamplighter.api.sessions.shapes import SessionOut
from lamplighter.domain.memory.memory import Category, MemoryKind

LayerName = Literal["memory", "session", "page", "event"]
"""The source of a search result."""


class SearchQuery(Struct):
    """The query and its filters; any text is a valid `q`. `layers` is separated by commas."""

    q: str = ""
    project: Name | None = None
    service: Name | None = None
    category: list[Category] = []
    kind: MemoryKind | None = None
    tag: Annotated[list[Name], Meta(max_length=20)] = []
    since: ShortText | None = None
    layers: ShortText = "memory,session,page"
    state: Literal["active", "inactive", "all"] = "active"
    limit: Annotated[int, Meta(ge=1, le=100)] = 20


class SearchReason(Struct):
    """One part of a score; words appear as they were typed."""

    what: str
    score: float


class NotebookTextOut(Struct):
    """A page of the notebook: the text that people wrote beside the memories."""

    id: int
    path: str
    title: str
    text: str
    project: str | None
    updated_at: datetime


class SearchHitOut(Struct):
    """One result with its row and the reasons that add up to its score.

    `text` is the best passage, `spans` the start and end of each match in it, in characters.
    """

    layer: LayerName
    rank: int
    score: float
    method: Literal["topic_key", "words", "meaning", "recent"]
    reasons: list[SearchReason]
    text: str
    spans: list[tuple[int, int]]
    memory: MemoryOut | UnsetType = UNSET
    session: SessionOut | UnsetType = UNSET
    page: NotebookTextOut | UnsetType = UNSET
    event: EventOut | UnsetType = UNSET


class SearchResultPage(Struct):
    """Results, best first; `partial`: a timeout, `missing`: the omitted parts.

    `layers` are the searched layers, `filters` the filters recognized in `q`.
    """

    items: list[SearchHitOut]
    next: None
    seq: int
    terms: list[str]
    partial: bool
    missing: list[str]
    layers: list[LayerName]
    filters: list[str]
