"""How well an order of answers serves questions."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

AT = (5, 10, 20)


@dataclass(frozen=True, slots=True)
class Judged:
    """One question: at which ranks its answers stood, how many there are, and were told."""

    ranks: tuple[int, ...]
    answers: int = 1
    told: int = 0

    def recall(self, at: int) -> float:
        """Return which share of the answers is among the first."""
        return sum(rank <= at for rank in self.ranks) / self.answers

    @property
    def gain(self) -> float:
        """Return the discounted gain of the first ten, as a share of the most there is."""
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
    """Return at which places the answers stand, from 1; those that were not found have none."""
    return tuple(order.index(answer) + 1 for answer in answers if answer in order)


def within(texts: Sequence[str], order: Sequence[int], answers: Sequence[int], budget: int) -> int:
    """Return how many answers are told when entries are told in order within so many tokens."""
    left, told = budget, 0
    for number in order:
        left -= math.ceil((min(len(texts[number]), 300) + 20) / 4)
        if left < 0:
            break
        told += number in answers
    return told
