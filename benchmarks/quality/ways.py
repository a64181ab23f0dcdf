"""Search methods for comparison with the product: from the simplest to all but one part of ours."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from benchmarks.quality.sets import Entry, Question, Set, words_of
from lamplighter.domain.search.ranking import WEIGHT, fuse_scores
from lamplighter.embedding import Vector
from lamplighter.repository.store import driver

MOST: Final = 100
NEIGHBOURS: Final = 2
RRF: Final = 60
STOP: Final = frozenset(
    (
        *("a", "about", "above", "after", "all", "am", "an", "and", "any", "are", "as", "at", "be"),
        *("been", "before", "but", "by", "can", "could", "did", "do", "does", "for", "from", "had"),
        *("has", "have", "he", "her", "him", "his", "how", "i", "if", "in", "into", "is", "it"),
        *("its", "may", "me", "my", "of", "on", "or", "our", "out", "she", "should", "so", "than"),
        *("that", "the", "their", "them", "then", "there", "they", "this", "to", "up", "us"),
        *("was", "we", "were", "what", "when", "where", "which", "who", "whom", "whose", "why"),
        *("will", "with", "would", "you", "your"),
    )
)

Scores = Mapping[int, float]
Way = Callable[[int], Sequence[int]]


class Lexical:
    """FTS5 over the entries: their text, and their context with little weight."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._db = driver.connect(":memory:")
        self._db.execute(
            "CREATE VIRTUAL TABLE f USING fts5("
            "text, service, around, project UNINDEXED, tokenize='porter unicode61')"
        )
        for number, each in enumerate(entries):
            row = (
                *(number, said(each), each.service or "", _around(entries, number)),
                each.project,
            )
            self._db.execute(
                "INSERT INTO f (rowid, text, service, around, project) VALUES (?, ?, ?, ?, ?)", row
            )

    def scores(
        self, asked: Question, *, every: bool = False, stop: bool = True, weights: str = "1, 1, 0"
    ) -> dict[int, float]:
        """Return the scores of the matches; higher is better."""
        words = [each for each in words_of(asked.text) if not (stop and each in STOP)]
        quoted = ['"' + each.replace('"', "") + '"' for each in words]
        if not quoted:
            return {}
        matched = "{text service}" if weights.endswith(" 0") else "{text service around}"
        match = f"{matched} : ({(' AND ' if every else ' OR ').join(quoted)})"
        rows = self._db.execute(
            f"SELECT rowid, -bm25(f, {weights}) s FROM f WHERE f MATCH ?"
            f" AND project = ? ORDER BY s DESC, rowid LIMIT {MOST}",
            (match, asked.project),
        )
        return dict(rows.fetchall())


def ways(found: Set, vectors: Vector, asked: Vector) -> dict[str, Way]:
    """Return each method as a function from the index of a question to the indexes of entries."""
    lexical, texts = Lexical(found.entries), found.questions
    projects = np.array([each.project for each in found.entries])

    def dense(number: int) -> dict[int, float]:
        near = np.where(projects == texts[number].project, vectors @ asked[number], -1.0)
        best = np.argsort(-near, kind="stable")[:MOST]
        return {int(each): float(near[each]) for each in best}

    def around(number: int) -> dict[int, float]:
        return lexical.scores(texts[number], weights="1, 1, 0.25")

    return {
        "newest first": lambda _: range(len(found.entries) - 1, -1, -1)[:MOST],
        "AND": lambda n: _order(lexical.scores(texts[n], every=True, stop=False)),
        "OR": lambda n: _order(lexical.scores(texts[n], stop=False)),
        "OR, no stop words": lambda n: _order(lexical.scores(texts[n])),
        "+ weighted fields": lambda n: _order(lexical.scores(texts[n], weights="1, 2, 0")),
        "+ neighbours of the session": lambda n: _order(around(n)),
        "meaning alone": lambda n: _order(dense(n)),
        "+ meaning, equal ranks": lambda n: _by_ranks(around(n), dense(n)),
        "+ meaning, weighed": lambda n: [
            each.id for each in fuse_scores(around(n), dense(n), weight=WEIGHT)
        ],
    }


def _order(scores: Scores) -> list[int]:
    return sorted(scores, key=lambda number: (-scores[number], number))


def _by_ranks(*sides: Scores) -> list[int]:
    found: dict[int, float] = {}
    for scores in sides:
        for rank, number in enumerate(_order(scores), 1):
            found[number] = found.get(number, 0.0) + 1 / (RRF + rank)
    return _order(found)


def _around(entries: Sequence[Entry], number: int) -> str:
    own = entries[number].session
    if own is None:
        return ""
    near = range(max(0, number - NEIGHBOURS), min(len(entries), number + NEIGHBOURS + 1))
    return " ".join(
        said(entries[each])
        for each in near
        if each != number
        and (entries[each].session, entries[each].project) == (own, entries[number].project)
    )


def said(entry: Entry) -> str:
    """Return the full text of an entry."""
    return f"{entry.name} {entry.words}" if entry.name else entry.words
