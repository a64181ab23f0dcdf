"""Search requests, results, and the record of results shown to a session."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol

from lamplighter.domain.errors import Unavailable
from lamplighter.domain.memory.memory import Category, Memory, MemoryKind
from lamplighter.domain.sessions.session import Session

if TYPE_CHECKING:  # the database tables import this module for its layer names
    from lamplighter.domain.services.event import Event

LIMIT: Final = 10
MOST: Final = 100
PARTIAL: Final = "X-Partial"
"""The header in which the contract of AgentOps names the parts that were not searched."""


class SearchLayer(StrEnum):
    """The layer of a search result."""

    MEMORY = "memory"
    SESSION = "session"
    PAGE = "page"
    EVENT = "event"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotebookText:
    """A page of the notebook without its memories, which are separate results.

    `project` is the one whose readers read the whole page; None for the index, because each project
    has an index of its own.
    """

    id: int
    path: str
    title: str
    text: str
    project: str | None
    updated_at: datetime

    @property
    def service(self) -> str | None:
        """The service that the page is about."""
        return self.title if self.path.startswith("services/") else None


class SearchMethod(StrEnum):
    """The method that found a result."""

    TOPIC_KEY = "topic_key"
    WORDS = "words"
    MEANING = "meaning"
    RECENT = "recent"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """A search request; None means no filter. Any `query` is valid.

    A `project` includes its own memories and the global ones of all; with `general`, a `service`
    includes memories that are true of all services. `active` None includes inactive memories.
    `literal` treats every word as a word, because a prompt is not written as a query, and cuts no
    passages. `metadata` are keys and values that must all be present.
    """

    query: str
    layers: tuple[SearchLayer, ...] = (SearchLayer.MEMORY, SearchLayer.SESSION, SearchLayer.PAGE)
    project: str | None = None
    service: str | None = None
    categories: tuple[Category, ...] = ()
    kind: MemoryKind | None = None
    tags: tuple[str, ...] = ()
    metadata: tuple[tuple[str, str], ...] = ()
    active: bool | None = True
    since: datetime | None = None
    general: bool = False
    literal: bool = False
    limit: int = LIMIT


@dataclass(frozen=True, slots=True)
class ScoreReason:
    """One part of a score: the reason, and the amount."""

    what: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """A search result: `rank` counts from 1, a higher `score` is better.

    `spans` are the positions of the query's words in `text`, as pairs.
    """

    layer: SearchLayer
    row: "Memory | Session | NotebookText | Event"
    rank: int
    score: float
    method: SearchMethod
    text: str
    spans: tuple[tuple[int, int], ...] = ()
    reasons: tuple[ScoreReason, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResults:
    """The results of a search, best first.

    `missing` names parts that were not searched: layers that timed out, "unindexed" if rows are not
    indexed yet, "vectors" if semantic search is late, loading or not installed. `partial` is
    whether the next search may return more. `layers` are the searched ones, `filters` the filters
    in the query.
    """

    results: tuple[SearchResult, ...] = ()
    terms: tuple[str, ...] = ()
    partial: bool = False
    missing: tuple[str, ...] = ()
    layers: tuple[SearchLayer, ...] = ()
    filters: tuple[str, ...] = ()

    @property
    def holds_no_word(self) -> bool:
        """Whether only semantic search found results: even nonsense has a nearest text."""
        return bool(self.results) and all(
            each.method is SearchMethod.MEANING for each in self.results
        )

    @property
    def left_out(self) -> str:
        """The parts that were not searched, for a person or an agent; empty if none."""
        return partial_notice(self.missing) if self.partial else ""

    @property
    def memories(self) -> list[Memory]:
        """The memories among the results, best first."""
        return [each.row for each in self.results if isinstance(each.row, Memory)]


VECTORS: Final = "vectors"
UNINDEXED: Final = "unindexed"
PARTS: Final = {
    SearchLayer.MEMORY.value: "memories",
    SearchLayer.SESSION.value: "session summaries",
    SearchLayer.PAGE.value: "pages of the notebook",
    SearchLayer.EVENT.value: "events",
    UNINDEXED: "rows that are not indexed yet",
    VECTORS: "semantic search",
}
"""Names of the parts of a search that can be missing."""


def partial_notice(missing: Sequence[str]) -> str:
    """Return the parts that were not searched as a sentence."""
    names = ", ".join(PARTS.get(each, each) for each in missing)
    return f"Not searched in time: {names}. Search again to include it."


class SemanticIndex(Protocol):
    """Semantic search of memories; raises TimeoutError, or Unavailable if it is not available."""

    async def __call__(
        self, query: str, ids: Sequence[int] | None = None, *, request: SearchRequest | None = None
    ) -> Sequence[tuple[int, float]]:
        """Return the memories most similar to a text with their similarities, best first.

        With ids only those are compared, and each of them with an embedding is returned; otherwise
        those of the `request` that are likely most similar.
        """


@dataclass(frozen=True, slots=True)
class NoSemanticSearch:
    """Replaces the semantic index without an installed model: search uses keywords alone."""

    why: str

    async def __call__(
        self, query: str, ids: Sequence[int] | None = None, *, request: SearchRequest | None = None
    ) -> Sequence[tuple[int, float]]:
        """Raise Unavailable with the reason."""
        raise Unavailable(self.why)


@dataclass(frozen=True, slots=True)
class RecordedHit:
    """A memory in shown results; `rank` counts from 1."""

    memory_id: int
    rank: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedSearch:
    """One search of a session."""

    id: int
    session_id: int | None
    tool: str
    query: str
    hits: tuple[RecordedHit, ...]
    at: datetime
