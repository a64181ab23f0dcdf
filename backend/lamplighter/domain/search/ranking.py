"""Ranking of search results: BM25 over weighted fields, plus boosts for names in the query.

A score is the sum of its reasons, and each reason can be shown.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from lamplighter.domain.search.query import ParsedQuery
from lamplighter.domain.search.search import ScoreReason
from lamplighter.domain.search.terms import is_single, terms
from lamplighter.domain.search.utterance import speaker_terms, utterance_date, utterance_speaker
from lamplighter.domain.services.service import normalize_service_name
from lamplighter.domain.sessions.session import Session

K1, B = 1.2, 0.05
TITLE, TEXT, KEYS, AROUND = 3.0, 1.0, 2.0, 0.25
WEIGHTS: Final = (TITLE, TEXT, KEYS, AROUND)
KEYS_AT: Final = 2
AROUND_AT: Final = 3
AROUND_TERMS: Final = 60
"""Words of longer neighbors count for proportionally less: a page is no context of a turn."""
NEXT_TO: Final = "next to "
"""The prefix of the reason for a word that occurs only in the neighbors of a turn."""

SIZES: Final = (1.0, 1.0, 1.0, 0.25)
"""How much a term of each field adds to the length of a text."""

OF_SERVICE: Final = 0.2
OF_PERIOD: Final = 0.3
OF_SPEAKER: Final = 0.45
"""The boost for the words of a speaker named in the query."""

FEW: Final = 12
NAMES: Final = 3
"""The most names of one row that the upper bound of a score assumes in a query."""

KEY_SCORE: Final = 1_000.0
"""The score of a memory whose topic key is the query, above all others."""

Fields = tuple[str, str, str, str]
"""The terms of a title, a text, its keys and its neighbours, with spaces between them."""


@dataclass(frozen=True, slots=True)
class CorpusStats:
    """The number of documents, their average length, and the document frequency of each term.

    `parts`: the number of documents in each part of the index.
    """

    documents: int
    average: float
    holding: Mapping[str, int]
    parts: Mapping[int, int] = field(default_factory=dict)

    def weight(self, term: str) -> float:
        """Return the inverse document frequency of a term."""
        held = min(self.holding.get(term, 0), self.documents)
        return math.log(1.0 + (self.documents - held + 0.5) / (held + 0.5))


NOTHING: Final = CorpusStats(0, 0.0, {})


def size_of(fields: Fields) -> float:
    """Return the weighted length of a document from its terms."""
    return sum(
        share * (text.count(" ") + 1) for share, text in zip(SIZES, fields, strict=True) if text
    )


class QueryWeights:
    """The terms of a query with their weights: built once, applied to each document."""

    def __init__(self, looked_for: Sequence[str], corpus: CorpusStats) -> None:
        self.corpus = corpus
        self._weights = {term: corpus.weight(term) for term in looked_for}
        self._singles = tuple(term for term in self._weights if is_single(term))
        self._whole = tuple(term for term in self._weights if term not in self._singles)
        self._average = corpus.average or 1.0
        self.full = sum(self._weights.values())
        """About the score of a document with all terms."""

    def score(self, fields: Fields, size: float) -> float:
        """Return the score of a document: BM25 over the weighted fields."""
        return sum(score for _, score in self._parts(fields, size))

    def reasons(self, fields: Fields, size: float) -> tuple[ScoreReason, ...]:
        """Return the share of each term in the score of a document."""
        own = self._frequencies((*fields[:AROUND_AT], ""))
        return tuple(
            ScoreReason(term if term in own else f"{NEXT_TO}{term}", score)
            for term, score in self._parts(fields, size)
        )

    def _parts(self, fields: Fields, size: float) -> list[tuple[str, float]]:
        norm = K1 * (1.0 - B + B * size / self._average)
        weights = self._weights
        return [
            (term, weights[term] * count * (K1 + 1.0) / (count + norm))
            for term, count in self._frequencies(fields).items()
        ]

    def _frequencies(self, fields: Fields) -> dict[str, float]:
        """Return the weighted frequency of each term in a document."""
        frequencies: dict[str, float] = {}
        near = AROUND * min(1.0, AROUND_TERMS / (fields[AROUND_AT].count(" ") + 1))
        for weight, text in zip((*WEIGHTS[:AROUND_AT], near), fields, strict=True):
            # for a few terms a substring search is cheaper than splitting the text
            within = text if len(self._whole) <= FEW else frozenset(text.split())
            found = [term for term in self._whole if term in within]
            part = text.split() if found else []
            for term in found:
                if count := part.count(term):
                    frequencies[term] = frequencies.get(term, 0.0) + weight * count
            for term in self._singles:
                if count := sum(each.startswith(term) for each in text.split()):
                    frequencies[term] = frequencies.get(term, 0.0) + weight * count
        return frequencies


def name_reasons(row: object, query: ParsedQuery, score: float) -> list[ScoreReason]:
    """Return the boosts for the service, speaker or time of a row that the query names."""
    held = set(query.terms)
    reasons = [
        ScoreReason(f"query names {name}", share * score)
        for name, words, share in _names(row)
        if held.issuperset(words)
    ]
    wanted, own = query.request, getattr(row, "service", None)
    if (
        wanted.general
        and wanted.service
        and own
        and normalize_service_name(own) == normalize_service_name(wanted.service)
    ):
        reasons.append(ScoreReason(f"service {own}", OF_SERVICE * score + 1.0))
    if query.period is not None and query.period.holds(utterance_date(row) or row_moment(row)):
        reasons.append(ScoreReason(f"from {query.period.label}", OF_PERIOD * score))
    return reasons


def max_score(score: float, fields: Fields | None, query: ParsedQuery) -> float:
    """Return the upper bound of a score after `name_reasons`.

    A result of the semantic search alone has no `fields`: a name would be a keyword match.
    """
    share = OF_PERIOD if query.period is not None else 0.0
    wanted = set(query.terms)
    if fields is not None and not wanted.isdisjoint(fields[KEYS_AT].split()):
        share += NAMES * OF_SERVICE + OF_SPEAKER
    if query.request.general and query.request.service:
        return score * (1.0 + share + OF_SERVICE) + 1.0
    return score * (1.0 + share)


def row_moment(row: object) -> datetime | None:
    """Return the time of a row."""
    for name in ("updated_at", "ended_at", "started_at", "created_at"):
        found = getattr(row, name, None)
        if isinstance(found, datetime):
            return found
    return None


def total_score(reasons: Sequence[ScoreReason]) -> float:
    """Return the sum of some reasons."""
    return math.fsum(each.score for each in reasons)


def _names(row: object) -> Iterator[tuple[str, list[str], float]]:
    """Yield each name of a row with its terms and its boost as a share of the score."""
    if isinstance(row, Session):
        for name in filter(None, (*(row.services or ()), row.agent)):
            yield name, terms(name), OF_SERVICE
        return
    own, spoken = getattr(row, "service", None), utterance_speaker(row)
    if own:
        yield own, terms(own), OF_SERVICE
    if spoken and spoken != own:
        titled = spoken == str(getattr(row, "title", "")).strip()
        yield spoken, terms(spoken) if titled else speaker_terms(spoken), OF_SPEAKER
