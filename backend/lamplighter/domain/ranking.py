"""The order of what was found: BM25 over weighted fields, and what a question names.

Each part of a score is a reason that can be shown, and the reasons add up to it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from lamplighter.domain.query import Asked
from lamplighter.domain.search import Reason
from lamplighter.domain.service import fold
from lamplighter.domain.session import Session
from lamplighter.domain.terms import is_single, terms

K1, B = 1.2, 0.75
TITLE, TEXT, KEYS, AROUND = 3.0, 1.0, 2.0, 0.25
WEIGHTS: Final = (TITLE, TEXT, KEYS, AROUND)
SIZES: Final = (1.0, 1.0, 1.0, 0.25)
"""How much a term of each field makes a text longer; a long title is no long text."""

OF_SERVICE: Final = 0.2
OF_PERIOD: Final = 0.3
KEY_SCORE: Final = 1_000.0
"""What the memory that a query names by its topic key has before all others."""

Fields = tuple[str, str, str, str]
"""The terms of a title, a text, its keys and its neighbours, with spaces between them."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """How much is indexed, how long its texts are on average, and how many hold each term."""

    documents: int
    average: float
    holding: Mapping[str, int]

    def weight(self, term: str) -> float:
        """Return how telling a term is: the fewer hold it the more."""
        held = min(self.holding.get(term, 0), self.documents)
        return math.log(1.0 + (self.documents - held + 0.5) / (held + 0.5))


def size_of(fields: Fields) -> float:
    """Return how long what these terms come from is."""
    return sum(
        share * (text.count(" ") + 1) for share, text in zip(SIZES, fields, strict=True) if text
    )


class Words:
    """The terms of a query with what each weighs: made once, asked of each text."""

    def __init__(self, looked_for: Sequence[str], corpus: Corpus) -> None:
        self._weights = {term: corpus.weight(term) for term in looked_for}
        self._singles = tuple(term for term in looked_for if is_single(term))
        self._wanted = frozenset(looked_for).difference(self._singles)
        self._average = corpus.average or 1.0

    def reasons(self, fields: Fields, size: float) -> tuple[Reason, ...]:
        """Return what each term counts for a text; BM25 over the weighted fields."""
        norm = K1 * (1.0 - B + B * size / self._average)
        held: dict[str, float] = {}
        for weight, text in zip(WEIGHTS, fields, strict=True):
            part = text.split()
            for term in self._wanted.intersection(part):
                held[term] = held.get(term, 0.0) + weight * part.count(term)
            for term in self._singles:
                if count := sum(each.startswith(term) for each in part):
                    held[term] = held.get(term, 0.0) + weight * count
        weights = self._weights
        return tuple(
            [
                Reason(term, weights[term] * count * (K1 + 1.0) / (count + norm))
                for term, count in held.items()
            ]
        )


def by_name(row: object, asked: Asked, score: float) -> list[Reason]:
    """Return what counts because the query names the service, the agent or the time of a row."""
    found = []
    for name in _names(row):
        if name and set(terms(name)) <= set(asked.terms):
            found.append(Reason(f"names {name}", OF_SERVICE * score))
    wanted, own = asked.wanted, getattr(row, "service", None)
    if wanted.general and wanted.service and own and fold(own) == fold(wanted.service):
        found.append(Reason(f"of {own}", OF_SERVICE * score + 1.0))
    if asked.period is not None and asked.period.holds(moment_of(row)):
        found.append(Reason(f"from {asked.period.words}", OF_PERIOD * score))
    return found


def moment_of(row: object) -> datetime | None:
    """Return the moment that a row is of."""
    for name in ("updated_at", "ended_at", "started_at", "created_at"):
        found = getattr(row, name, None)
        if isinstance(found, datetime):
            return found
    return None


def total(reasons: Sequence[Reason]) -> float:
    """Return the score that some reasons add up to."""
    return math.fsum(each.score for each in reasons)


def _names(row: object) -> list[str]:
    if isinstance(row, Session):
        return [*(row.services or ()), *([row.agent] if row.agent else [])]
    name = getattr(row, "service", None)
    return [name] if isinstance(name, str) else []
