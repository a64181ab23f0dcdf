"""Matching of words between two clauses or texts, with the unmatched words of each side."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Final

from lamplighter.domain.relate.analysis import Clause, ClauseWord, Sense
from lamplighter.domain.relate.measures import MeasureMatch, match_measures
from lamplighter.domain.stemming import stem

HEAVY: Final = 0.9  # minimum weight of a word that makes two facts different
_DENYING: Final = frozenset(["un", "in", "im", "ir", "il", "dis", "mis", "non", "de"])
_NOT_DENYING: Final = frozenset(["default", "defaults", "discover", "discovers", "discovered"])
_LEAST_TYPED: Final = 5
_LONG_TYPED: Final = 8
_MOST_TYPED: Final = 40


@dataclass(frozen=True, slots=True)
class WordPair:
    """Two words of one meaning; `opposed` if they are antonyms."""

    old: ClauseWord
    new: ClauseWord
    one: Sense
    two: Sense

    @property
    def opposed(self) -> bool:
        """Return whether they are at opposite ends of an axis."""
        return self.one.sign != self.two.sign

    @property
    def opposite_signs(self) -> bool:
        """Return whether exactly one of them is negative; not for two words of one end."""
        if self.one.axis and self.one.sign == self.two.sign:
            return False
        return (self.one.tells < 0) != (self.two.tells < 0)


@dataclass(frozen=True)
class Match:
    """The words that two sets of clauses share, and those that only one set contains."""

    old: Sequence[Clause]
    new: Sequence[Clause]
    pairs: list[WordPair] = field(default_factory=list)
    left: list[ClauseWord] = field(default_factory=list)
    right: list[ClauseWord] = field(default_factory=list)
    measures: MeasureMatch = field(default_factory=MeasureMatch)

    @cached_property
    def cover(self) -> tuple[float, float]:
        """The shares of the old and of the new text that the other text covers, from 0 to 1."""
        return (
            self._share([pair.old for pair in self.pairs], self.left, len(self.measures.left)),
            self._share([pair.new for pair in self.pairs], self.right, len(self.measures.right)),
        )

    @property
    def least(self) -> float:
        """The smaller of the two shares."""
        return min(self.cover)

    @property
    def size(self) -> float:
        """The weight of the shared words and measures."""
        amounts = sum(one.kind == two.kind for one, two in self.measures.unlike)
        words = sum(pair.old.weight for pair in self.pairs)
        return words + len(self.measures.same) + amounts * 0.5

    def _share(self, hit: Sequence[ClauseWord], rest: Sequence[ClauseWord], over: int) -> float:
        said = sum(word.weight for word in hit) + len(self.measures.same)
        missed = sum(word.weight for word in rest)
        total = said + missed + 0.5 * over + 0.5 * len(self.measures.unlike)
        return said / total if total else 0.0


def match(old: Sequence[Clause], new: Sequence[Clause]) -> Match:
    """Match the words of some clauses with those of others, each at most once."""
    result = Match(
        old,
        new,
        measures=match_measures(
            [each for clause in old for each in clause.measures],
            [each for clause in new for each in clause.measures],
        ),
    )
    rest = [word for clause in new for word in clause.tokens]
    for word in (word for clause in old for word in clause.tokens):
        same = next((each for each in rest if each.surface == word.surface), None)
        if same is None:
            result.left.append(word)
        else:
            rest.remove(same)
            result.pairs.append(WordPair(word, same, word.senses[0], same.senses[0]))
    alone = len(old) == len(new) == 1
    for word in list(result.left) if rest else ():
        pair = _counterpart(word, rest, alone=alone)
        if pair is not None:
            result.left.remove(word)
            rest.remove(pair.new)
            result.pairs.append(pair)
    result.right.extend(rest)
    return result


def _counterpart(word: ClauseWord, among: Sequence[ClauseWord], *, alone: bool) -> WordPair | None:
    return _of_one_meaning(word, among, alone=alone) or _of_one_form(word, among)


def _of_one_meaning(
    word: ClauseWord, among: Sequence[ClauseWord], *, alone: bool
) -> WordPair | None:
    """Return the first pair of one meaning; if there is none, the first pair of opposites.

    Opposites of general English count only between two clauses.
    """
    opposed: WordPair | None = None
    for other, one, two in _shared(word, among):
        if one.sign == two.sign:
            return WordPair(word, other, one, two)
        if alone or one.axis:
            opposed = opposed or WordPair(word, other, one, two)
    return opposed


def _shared(
    word: ClauseWord, among: Sequence[ClauseWord]
) -> Iterator[tuple[ClauseWord, Sense, Sense]]:
    """Yield the senses that a word shares with others, of either sign."""
    for other in among:
        for one in word.senses:
            for two in other.senses:
                if one.key == two.key:
                    yield other, one, two


def _of_one_form(word: ClauseWord, among: Sequence[ClauseWord]) -> WordPair | None:
    sense = word.senses[0]
    for other in among:
        if word.name or other.name:  # a name with another spelling is another thing
            continue
        one, two = word.surface, other.surface
        if same_root(one, two) or (one[0] == two[0] and differs_by_typo(one, two)):
            return WordPair(word, other, sense, sense)
        if negates(one, two):
            return WordPair(word, other, sense, replace(sense, sign=-sense.sign))
    return None


def negates(one: str, two: str) -> bool:
    """Whether one word is the other with a negative prefix: "reversible", "irreversible"."""
    if not (one.endswith(two) or two.endswith(one)):
        return False
    short, long = sorted((one, two), key=len)
    prefix = long.removesuffix(short)
    return len(short) >= _LEAST_TYPED and prefix in _DENYING and long not in _NOT_DENYING


def same_root(one: str, two: str) -> bool:
    """Whether two words are forms of one root: "rebalance" and "rebalancing"."""
    first, second = sorted((stem(one), stem(two)), key=len)
    return len(first) >= _LEAST_TYPED and second.startswith(first) and len(second) <= len(first) + 3


@lru_cache(maxsize=50_000)
def differs_by_typo(one: str, two: str) -> bool:
    """Whether two words differ only by a typing error."""
    size = min(len(one), len(two))
    if one[0] != two[0] or not _LEAST_TYPED <= size <= _MOST_TYPED:
        return False
    if abs(len(one) - len(two)) > 2:
        return False
    if any(char.isdecimal() for char in one + two):
        return False  # sda1 is not sdb1
    most = 1 if size < _LONG_TYPED else 2
    # each typo adds at most one letter: a cheap test before the edit distance
    return (Counter(one) - Counter(two)).total() <= most and edit_distance(one, two) <= most


def edit_distance(one: str, two: str) -> int:
    """Count insertions, deletions, replacements and swaps (Damerau-Levenshtein)."""
    older: list[int] = []
    before: list[int] = []
    row = list(range(len(two) + 1))
    for i, a in enumerate(one, 1):
        older, before, row = before, row, [i]
        for j, b in enumerate(two, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == two[j - 2] and one[i - 2] == b:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
    return row[-1]
