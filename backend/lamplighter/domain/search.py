"""The search: what is asked of all that is known, what is found, and what a session was shown."""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from lamplighter.domain.event import Event
from lamplighter.domain.memory import Category, Kind, Memory
from lamplighter.domain.session import Session
from lamplighter.domain.text import one_line

_WORD: Final = re.compile(r"[\w-]+")
_SHORT: Final = 3
_EMPTY: Final = frozenset(
    (
        *("the", "and", "for", "with", "was", "were", "are", "has", "had", "not", "that", "this"),
        *("its", "from", "but", "when", "what", "how", "why"),
    )
)


LIMIT: Final = 10
MOST: Final = 100


class Layer(StrEnum):
    """Where something is found."""

    MEMORY = "memory"
    SESSION = "session"
    EVENT = "event"


class Method(StrEnum):
    """How something was found."""

    TOPIC_KEY = "topic_key"
    WORDS = "words"
    MEANING = "meaning"
    RECENT = "recent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is looked for; None asks for all. Any `query` is valid.

    Of a `project` are its own memories and the global ones of all. `active` None finds
    those that are told no more too.
    """

    query: str
    layers: tuple[Layer, ...] = (Layer.MEMORY, Layer.SESSION)
    project: str | None = None
    service: str | None = None
    categories: tuple[Category, ...] = ()
    kind: Kind | None = None
    tags: tuple[str, ...] = ()
    active: bool | None = True
    since: datetime | None = None
    limit: int = LIMIT


@dataclass(frozen=True, slots=True)
class Reason:
    """One part of a score: what counted, and how much."""

    what: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One thing that was found: `rank` counts from 1, more `score` is better.

    `spans` are where the words of the query stand in `text`, as pairs of positions.
    """

    layer: Layer
    row: Memory | Session | Event
    rank: int
    score: float
    method: Method
    text: str
    spans: tuple[tuple[int, int], ...] = ()
    reasons: tuple[Reason, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """What was found, best first. `partial` says that time ran out, `missing` what was left out."""

    found: tuple[Found, ...] = ()
    terms: tuple[str, ...] = ()
    partial: bool = False
    missing: tuple[str, ...] = ()

    @property
    def memories(self) -> list[Memory]:
        """The memories among them, best first."""
        return [each.row for each in self.found if isinstance(each.row, Memory)]


Near = Callable[[str, Sequence[int] | None], Awaitable[Sequence[tuple[int, float]]]]
"""Return the memories nearest in meaning to a text with how near each is, nearest first.

With ids only those are compared, and each of them that is known is returned."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory that was shown; `rank` counts from 1."""

    memory_id: int
    rank: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """One search of a session."""

    id: int
    session_id: int | None
    tool: str
    query: str
    hits: tuple[Hit, ...]
    at: datetime


def words(query: str) -> list[str]:
    """Return the words of a query that say something, each once; whatever is written is valid.

    Of a query that has none, the whole is looked for.
    """
    query = one_line(query).casefold()
    found = dict.fromkeys(_WORD.findall(query))
    telling = [each for each in found if len(each) >= _SHORT and each not in _EMPTY]
    return telling or list(found) or [query]
