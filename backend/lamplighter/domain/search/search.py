"""Search requests, results, and the record of results shown to a session."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol

from lamplighter.domain.errors import Unavailable
from lamplighter.domain.memory.memory import Category, Memory, MemoryKind
from lamplighter.domain.sessions.session import Session

if TYPE_CHECKING:  # the names of the layers are part of the tables, events are not
    from lamplighter.domain.services.event import Event

LIMIT: Final = 10
MOST: Final = 100
PARTIAL: Final = "X-Partial"
"""The header by which the contract of AgentOps names what was not searched."""


class SearchLayer(StrEnum):
    """Where something is found."""

    MEMORY = "memory"
    SESSION = "session"
    PAGE = "page"
    EVENT = "event"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotebookText:
    """A page of the notebook without its memories, which are found themselves.

    `project` is the one whose readers read the whole page; None for the index: each project
    reads an index of its own.
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
    """How something was found."""

    TOPIC_KEY = "topic_key"
    WORDS = "words"
    MEANING = "meaning"
    RECENT = "recent"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """What is looked for; None asks for all. Any `query` is valid.

    Of a `project` are its own memories and the global ones of all; with `general`, of a
    `service` those that are true of all services too. `active` None finds those that are
    told no more too. `literal` takes every word for a word, for a prompt is no query by design, and
    cuts no passages. `metadata` are keys and values that all have to be there.
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
    """One part of a score: what counted, and how much."""

    what: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """One thing that was found: `rank` counts from 1, more `score` is better.

    `spans` are where the words of the query stand in `text`, as pairs of positions.
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
    """What was found, best first.

    `missing` names what was left out: layers for which time ran out, "unindexed" where rows
    wait to be indexed, "vectors" where semantic search is late, loading or not installed.
    `partial` says that the next search may return more. `layers` are those
    that were searched, `filters` what of the query's words narrowed it.
    """

    results: tuple[SearchResult, ...] = ()
    terms: tuple[str, ...] = ()
    partial: bool = False
    missing: tuple[str, ...] = ()
    layers: tuple[SearchLayer, ...] = ()
    filters: tuple[str, ...] = ()

    @property
    def holds_no_word(self) -> bool:
        """Whether all of it was found by meaning alone: for nonsense too something is nearest."""
        return bool(self.results) and all(
            each.method is SearchMethod.MEANING for each in self.results
        )

    @property
    def left_out(self) -> str:
        """What was not searched, for a person or an agent; empty where all was."""
        return partial_notice(self.missing) if self.partial else ""

    @property
    def memories(self) -> list[Memory]:
        """The memories among them, best first."""
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
"""What can be missing of a search, in words."""


def partial_notice(missing: Sequence[str]) -> str:
    """Return what was not searched as a sentence."""
    names = ", ".join(PARTS.get(each, each) for each in missing)
    return f"Not searched in time: {names}. Search again to include it."


class SemanticIndex(Protocol):
    """Finds memories by what they mean; raises TimeoutError, or Unavailable when it cannot."""

    async def __call__(
        self, query: str, ids: Sequence[int] | None = None, *, request: SearchRequest | None = None
    ) -> Sequence[tuple[int, float]]:
        """Return the memories nearest in meaning to a text with how near each is, nearest first.

        With ids only those are compared, and each of them that is known is returned; else
        those among the `request` that are likely nearest.
        """


@dataclass(frozen=True, slots=True)
class NoSemanticSearch:
    """Replaces the semantic index without an installed model: search uses keywords alone."""

    why: str

    async def __call__(
        self, query: str, ids: Sequence[int] | None = None, *, request: SearchRequest | None = None
    ) -> Sequence[tuple[int, float]]:
        """Say why there is no answer."""
        raise Unavailable(self.why)


@dataclass(frozen=True, slots=True)
class RecordedHit:
    """A memory that was shown; `rank` counts from 1."""

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
