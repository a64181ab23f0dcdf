"""Measures of how well a ranking answers questions."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

AT = (5, 10, 20)


@dataclass(frozen=True, slots=True)
class Judged:
    """One question: the ranks of its answers, their number, and how many were included."""

    ranks: tuple[int, ...]
    answers: int = 1
    told: int = 0

    def recall(self, at: int) -> float:
        """Return the share of the answers that is among the first results."""
        return sum(rank <= at for rank in self.ranks) / self.answers

    @property
    def gain(self) -> float:
        """Return the discounted gain of the first ten, as a share of the maximum."""
        most = sum(1 / math.log2(rank + 2) for rank in range(min(self.answers, 10)))
        return sum(1 / math.log2(rank + 1) for rank in self.ranks if rank <= 10) / most


def scored(found: Sequence[Judged]) -> dict[str, float]:
    """Return the mean of each measure."""
    measures = {f"r@{at}": [each.recall(at) for each in found] for at in AT} | {
        "mrr": [1 / min(each.ranks) if each.ranks else 0.0 for each in found],
        "ndcg@10": [each.gain for each in found],
        "told": [each.told / each.answers for each in found],
    }
    return {name: round(sum(values) / len(values), 3) for name, values in measures.items()}


def ranked(order: Sequence[int], answers: Sequence[int]) -> tuple[int, ...]:
    """Return the ranks of the answers, from 1; missing answers have no rank."""
    return tuple(order.index(answer) + 1 for answer in answers if answer in order)


def within(texts: Sequence[str], order: Sequence[int], answers: Sequence[int], budget: int) -> int:
    """Return how many answers are included if entries are included in order up to this budget."""
    left, told = budget, 0
    for number in order:
        left -= math.ceil((min(len(texts[number]), 300) + 20) / 4)
        if left < 0:
            break
        told += number in answers
    return told
