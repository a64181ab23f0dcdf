"""Ranking of search results: BM25 over weighted fields, plus boosts for names in the query.

A score is the sum of its reasons, each of which can be shown. The module also finds the speaker and
the date of a text, fuses the scores of keyword and semantic search, and selects the best passage.
"""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from lamplighter.domain.search.period import STAMP, leading_date
from lamplighter.domain.search.query import ParsedQuery
from lamplighter.domain.search.search import ScoreReason
from lamplighter.domain.search.terms import TermSpan, is_name, is_single, term_spans, terms
from lamplighter.domain.services.service import is_same_service
from lamplighter.domain.sessions.session import Session

PASSAGE_CHARS: Final = 400
LEAD_CHARS: Final = 60
READ_CHARS: Final = 60_000
CUT: Final = "…"

Span = tuple[int, int]
K1, B = 1.2, 0.05
TITLE, TEXT, KEYS, AROUND = 3.0, 1.0, 2.0, 0.25
_NAME: Final = r"[^\W\d][\w.-]{0,40}(?: [^\W\d][\w.-]{0,40}){0,2}"
_BRACKET: Final = r"[\[(][^\])\n]{1,60}[\])]"
_PLACE: Final = r"[^\s\[(]{0,20}[0-9][^\s:]{0,3}"
_SPEAKER: Final = re.compile(
    rf"[\s>*_-]{{0,8}}(?:{_BRACKET}\s*|{_PLACE}\s){{0,2}}(?:(?i:{STAMP})[\s,|\u2013\u2014-]{{0,4}})?"
    rf"[*_]{{0,2}}(?P<name>{_NAME})[*_]{{0,2}}(?: {_BRACKET})?"
    r"(?::[*_]{0,2}\s|,? (?:said|says|wrote|asked)\b)"
)
_LEAD: Final = 300
_CALLED: Final = re.compile(_NAME)

READ_TERMS: Final = 200
"""The model reads the first 256 tokens of a text: about this number of terms."""
WEIGHT: Final = 0.35
FLOOR: Final = 0.2
GOOD_PART: Final = 0.7
MEANING: Final = "meaning"
NONE_READ: Final[Mapping[int, float]] = {}
WEIGHTS: Final = (TITLE, TEXT, KEYS, AROUND)
KEYS_AT: Final = 2
AROUND_AT: Final = 3
AROUND_TERMS: Final = 60
"""Words of longer neighbors have proportionally less weight: a page is no context of a turn."""
NEXT_TO: Final = "next to "
"""The prefix of the reason for a word that occurs only in the neighbors of a turn."""

SIZES: Final = (1.0, 1.0, 1.0, 0.25)
"""The weight of a term of each field in the length of a text."""

OF_SERVICE: Final = 0.2
OF_PERIOD: Final = 0.3
OF_SPEAKER: Final = 0.45
"""The boost for the words of a speaker named in the query."""

FEW: Final = 12
NAMES: Final = 3
"""The maximum number of names of one row in a query that the upper bound of a score assumes."""

KEY_SCORE: Final = 1_000.0
"""The score of a memory whose topic key is the query, above all others."""

Fields = tuple[str, str, str, str]
"""The terms of a title, a text, its keys and its neighbors, separated by spaces."""


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
    if wanted.general and wanted.service and own and is_same_service(own, wanted.service):
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


def find_speaker(text: str) -> str | None:
    """Return the speaker or subject that a text begins with.

    `Ada: ...`, `**Ada**: ...`, `Ada (12:30): ...`, `2026-05-09 12:30 - Ada: ...`, `Ada said ...`.
    """
    found = _SPEAKER.match(text[:_LEAD])
    return found["name"] if found else None


def utterance_speaker(row: object) -> str | None:
    """Return the speaker of a row: found in its text, or a title that is only a name."""
    title = str(getattr(row, "title", "")).strip()
    within = getattr(row, "session_id", None) is not None
    if within and title.istitle() and _CALLED.fullmatch(title):
        return title
    return find_speaker(getattr(row, "observation", ""))


def utterance_date(row: object) -> datetime | None:
    """Return the date at the beginning of a row's text; None if there is none."""
    given = (leading_date(getattr(row, name, "")) for name in ("observation", "title"))
    return next(filter(None, given), None)


def speaker_terms(name: str) -> list[str]:
    """Return the terms of a name; for a full name, only those of the first part."""
    return terms(name.split()[0] if name.istitle() else name)


@dataclass(frozen=True, slots=True)
class FusedScore:
    """A memory's score in [0, 1], and the shares of keyword and semantic search."""

    id: int
    keyword: float
    meaning: float

    @property
    def score(self) -> float:
        """The sum of both."""
        return self.keyword + self.meaning


def fuse_scores(
    keywords: Mapping[int, float],
    meaning: Mapping[int, float],
    *,
    full: float = 0.0,
    weight: float = WEIGHT,
    read: Mapping[int, float] = NONE_READ,
) -> list[FusedScore]:
    """Return memories by both scores, best first; a higher score is better.

    `full` is the score of a memory with all words of the query. Keyword scores are relative to the
    query's best, but to a good part of `full` at least: if the best contains one word of six,
    perhaps by chance, semantic search decides. Semantic scores (similarity, -1 to 1) are relative
    to the best, above the similarity of unrelated texts. If one side is empty, the other decides
    alone.

    `read` is the share of a memory that its embedding covers, if that is not all: for the rest its
    keyword score is used, unless that would lower its score.
    """
    weight = weight if keywords else 1.0
    weight = weight if meaning else 0.0
    scale, nearest = full_score(keywords, full), max(meaning.values(), default=0.0)
    keyword_scores = {number: score / scale for number, score in keywords.items()}
    by_meaning = {
        number: _with_unread(
            _above_floor(near, nearest), keyword_scores.get(number, 0.0), read.get(number, 1.0)
        )
        for number, near in meaning.items()
    }
    scores = [
        FusedScore(
            number,
            (1 - weight) * keyword_scores.get(number, 0.0),
            weight * by_meaning.get(number, 0.0),
        )
        for number in {**keywords, **meaning}
    ]
    return sorted(scores, key=lambda each: (-each.score, each.id))


def full_score(words: Mapping[int, float], full: float) -> float:
    """Return the keyword score that counts as 1."""
    return max(max(words.values(), default=0.0), GOOD_PART * full) or 1.0


def _with_unread(meaning: float, words: float, read: float) -> float:
    return max(meaning, read * meaning + (1.0 - read) * words)


def _above_floor(near: float, nearest: float) -> float:
    """Return a similarity as a share of the highest, above the similarity of unrelated texts."""
    return max(0.0, near - FLOOR) / (nearest - FLOOR) if nearest > FLOOR else 0.0


def read_share(terms: float) -> float:
    """Return the share of a text with this number of terms that its embedding covers."""
    return min(1.0, READ_TERMS / max(terms, 1.0))


def best_passage(text: str, looked_for: Collection[str]) -> tuple[str, tuple[Span, ...]]:
    """Return the passage of a text with the most words of a query, and their positions."""
    spans = find_spans(text[:READ_CHARS], looked_for)
    if len(text) <= PASSAGE_CHARS:
        return text, tuple(spans)
    start = _passage_start(spans, text)
    end = min(len(text), start + PASSAGE_CHARS)
    before, after = CUT if start else "", CUT if end < len(text) else ""
    moved = len(before) - start
    inside = [(a + moved, b + moved) for a, b in spans if start <= a and b <= end]
    return f"{before}{text[start:end]}{after}", tuple(inside)


def find_excerpt(text: str, looked_for: Collection[str], chars: int) -> tuple[int, int]:
    """Return the part of a text, at most `chars` long, with the most distinct words of a query.

    This is its beginning, unless another part contains more of them.
    """
    end = len(text)
    if end <= chars:
        return 0, end
    matches = _matches(text[:READ_CHARS], looked_for)
    best, most = 0, len({term for _, last, term in matches if last <= chars})
    counts: Counter[str] = Counter()
    last = 0
    for first, (start, _, term) in enumerate(matches):
        begin = _lead_start(text, start)
        while last < len(matches) and (matches[last][1] <= begin + chars or last <= first):
            counts[matches[last][2]] += 1
            last += 1
        if len(counts) > most:
            best, most = begin, len(counts)
        counts[term] -= 1
        counts += Counter()  # removes terms with a count of zero
    best = max(0, min(best, end - chars))
    return best, min(end, best + chars)


def render_excerpt(text: str, looked_for: Collection[str], chars: int) -> str:
    """Return that part of a text, with an ellipsis at each cut."""
    start, end = find_excerpt(text, looked_for, chars)
    before, after = CUT if start else "", CUT if end < len(text) else ""
    return f"{before}{text[start + len(before) : end - len(after)]}{after}"


def find_spans(text: str, looked_for: Collection[str]) -> list[Span]:
    """Return the positions of a query's words in a text; adjacent ones are one span."""
    merged: list[Span] = []
    for start, end in sorted({(start, end) for start, end, _ in _matches(text, looked_for)}):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _matches(text: str, looked_for: Collection[str]) -> list[tuple[int, int, str]]:
    wanted = frozenset(looked_for)
    starts = tuple(each for each in wanted if is_single(each))
    return [
        (each.start, each.end, each.term)
        for each in term_spans(text)
        if _is_match(each, wanted, starts)
    ]


def _lead_start(text: str, start: int) -> int:
    """Return a start position that leaves some words before `start`."""
    ahead = max(0, start - LEAD_CHARS)
    gap = text.find(" ", ahead, start) if ahead else -1
    return ahead if gap < 0 else gap + 1


def _is_match(word: TermSpan, terms: frozenset[str], starts: tuple[str, ...]) -> bool:
    if word.term in terms:
        return True
    return bool(starts) and not is_name(word.term) and word.term.startswith(starts)


def _passage_start(spans: Sequence[Span], text: str) -> int:
    """Return the start of the passage that contains the most spans; the first such, at a word."""
    if not spans:
        return 0
    best, most, last = 0, 0, 0
    for first, (start, _) in enumerate(spans):
        last = max(last, first)
        while last < len(spans) and spans[last][1] <= start + PASSAGE_CHARS - LEAD_CHARS:
            last += 1
        if last - first > most:
            best, most = first, last - first
    return _lead_start(text, spans[best][0])
