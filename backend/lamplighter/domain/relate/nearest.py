"""Search for the observations that share the most terms with a new one; rare terms count more."""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import nlargest
from math import log
from typing import Final

from lamplighter.domain.relate.analysis import LIGHT, Analysis

VISITS: Final = 2_000


def lookup_terms(analysis: Analysis) -> frozenset[str]:
    """Return the lookup terms of an observation: its senses, and its measures with their kinds.

    Light words count only if there are no others.
    """
    words = [word for clause in analysis.clauses for word in clause.tokens]
    weighty = [word for word in words if word.weight > LIGHT] or words
    measures = [each for clause in analysis.clauses for each in clause.measures]
    kinds = {f"#{each.kind}" for each in measures}
    values = {f"={each.low or each.text}".replace(" ", "") for each in measures}
    return frozenset(sense.key for word in weighty for sense in word.senses) | kinds | values


@dataclass(slots=True)
class TermIndex:
    """An in-memory index from terms to observations, each identified by a number."""

    _by_term: dict[str, "array[int]"] = field(default_factory=dict)
    _hashes: dict[int, int] = field(default_factory=dict)
    _gone: set[int] = field(default_factory=set)

    def add(self, number: int, found: Iterable[str]) -> None:
        """Add an observation, or update the terms of a changed one."""
        terms = frozenset(found)
        self._gone.discard(number)
        if self._hashes.get(number) == hash(terms):
            return
        if number in self._hashes:
            self._forget(number)
        self._hashes[number] = hash(terms)
        for term in terms:
            self._by_term.setdefault(term, array("q")).append(number)

    def drop(self, number: int) -> None:
        """Exclude an observation from later searches."""
        self._gone.add(number)

    def search(self, terms: Iterable[str], limit: int) -> list[int]:
        """Return the observations that share most with `terms`; a rare term counts more.

        About 2,000 entries are visited, those of the rarest terms first: a term of all observations
        costs nothing. Matches of a rarer term are still ranked by a common term.
        """
        lists = sorted((ids for term in set(terms) if (ids := self._by_term.get(term))), key=len)
        scores: dict[int, float] = {}
        left = VISITS
        for ids in lists:
            weight = log(1 + len(self._hashes) / len(ids))
            if left < len(ids) and scores:
                self._rank(ids, weight, scores)
                continue
            left -= len(ids)
            visited = ids[-VISITS:]  # the newest, if even the rarest word is frequent
            if not scores:
                scores = dict.fromkeys(visited, weight)
                continue
            for number in visited:
                scores[number] = scores.get(number, 0.0) + weight
        for number in self._gone.intersection(scores):
            del scores[number]
        return [number for _, number in nlargest(limit, zip(scores.values(), scores, strict=True))]

    def _forget(self, number: int) -> None:
        """Remove an observation from every list: its terms have changed."""
        for held in self._by_term.values():
            if number in held:
                held.remove(number)

    @staticmethod
    def _rank(counts: "array[int]", weight: float, scores: dict[int, float]) -> None:
        """Add a common term's weight to the observations found already, if it has few entries."""
        if len(counts) > VISITS:
            return
        for number in scores.keys() & set(counts):
            scores[number] += weight
