"""Fusion: what words say and what meaning says of the same memories, weighed into one score.

A sum of two scores, not of two ranks: the best by words stays the best unless meaning has a
clearly better one. By equal ranks the second best of each would beat the best of one, and a
query for an exact fact would be answered with what only sounds like it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

WEIGHT: Final = 0.35
FLOOR: Final = 0.2
GOOD_PART: Final = 0.7
MEANING: Final = "meaning"
NOTHING: Final[Mapping[int, float]] = {}


@dataclass(frozen=True, slots=True)
class FusedScore:
    """One memory's score in [0, 1], and what words and meaning are of it."""

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
    read: Mapping[int, float] = NOTHING,
) -> list[FusedScore]:
    """Return memories by both scores, best first; more is better in each.

    `full` is what a memory with all the words of the query would score. The scores of words
    count as shares of the query's best, but of a good part of `full` at least: where the best
    holds one word of six, by chance perhaps, meaning decides. The scores of meaning (how near,
    -1 to 1) count as shares of the best above what unrelated texts have in common anyway.
    Where one side is empty the other decides alone.

    `read` is which share of a memory its meaning is of, where that is not all of it: for the
    rest its words speak, unless that would count against it.
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
    """Return the score of words that counts as 1."""
    return max(max(words.values(), default=0.0), GOOD_PART * full) or 1.0


def _with_unread(meaning: float, words: float, read: float) -> float:
    return max(meaning, read * meaning + (1.0 - read) * words)


def _above_floor(near: float, nearest: float) -> float:
    """Return how near something is as a share of the nearest, above what all texts share."""
    return max(0.0, near - FLOOR) / (nearest - FLOOR) if nearest > FLOOR else 0.0
