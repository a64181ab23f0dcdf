"""The search: what a session asked of the memories, and what it was shown of them."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from lamplighter.domain.text import one_line

_WORD: Final = re.compile(r"[\w-]+")
_SHORT: Final = 3
_EMPTY: Final = frozenset(
    (
        *("the", "and", "for", "with", "was", "were", "are", "has", "had", "not", "that", "this"),
        *("its", "from", "but", "when", "what", "how", "why"),
    )
)


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
