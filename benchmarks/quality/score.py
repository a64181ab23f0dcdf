"""How well an order of answers serves questions."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

AT = (5, 10, 20)


@dataclass(frozen=True, slots=True)
class Judged:
    """One question: at which rank its answer stood, None where it did not, and what was told."""

    rank: int | None
    told: bool = False


def scored(found: Sequence[Judged]) -> dict[str, float]:
    """Return the mean of each measure; there is one right answer to each question."""
    ranks = [each.rank for each in found]
    measures = {f"r@{at}": [rank is not None and rank <= at for rank in ranks] for at in AT} | {
        "mrr": [1 / rank if rank else 0.0 for rank in ranks],
        "ndcg@10": [1 / math.log2(rank + 1) if rank and rank <= 10 else 0.0 for rank in ranks],
        "told": [each.told for each in found],
    }
    return {name: round(sum(values) / len(values), 3) for name, values in measures.items()}


def ranked(order: Sequence[int], answer: int) -> int | None:
    """Return at which place an answer stands, from 1."""
    return order.index(answer) + 1 if answer in order else None


def within(texts: Sequence[str], order: Sequence[int], answer: int, budget: int) -> bool:
    """Whether an answer is told when entries are told in this order within a budget of tokens."""
    left = budget
    for number in order:
        left -= math.ceil((min(len(texts[number]), 300) + 20) / 4)
        if left < 0:
            return False
        if number == answer:
            return True
    return False
