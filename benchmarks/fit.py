"""Fit the weights of relate to the labelled pairs: `python -m benchmarks.fit`, a few minutes.

Multinomial logistic regression with an L2 penalty by accelerated gradient descent, each
pair in both directions, and beside them pairs of texts that have nothing to do with each
other, as most of a real stream has not. The same pairs give the same weights.
"""

import json
import random
from collections.abc import Sequence
from math import exp
from pathlib import Path
from typing import Any, Final

from lamplighter.domain import relate
from lamplighter.domain.relate.features import compare

PAIRS: Final = Path(__file__).parent.parent / "tests" / "data" / "relate"
TARGET: Final = Path(relate.__file__).with_name("weights.json")
LABELS: Final = ("reinforce", "contradict", "new")
STRANGERS: Final = 900
STRANGE_WEIGHT: Final = 0.1
PENALTY: Final = 1.0
ROUNDS: Final = 500

Row = tuple[list[float], int, float]


def pairs(name: str) -> list[dict[str, Any]]:
    """Return the labelled pairs of a file."""
    lines = (PAIRS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def strangers(found: Sequence[dict[str, Any]], count: int, seed: int) -> list[dict[str, Any]]:
    """Return pairs of texts of one category that were written of different services."""
    chance = random.Random(seed)
    texts = [
        (pair["category"], pair["service"], pair[side]) for pair in found for side in ("old", "new")
    ]
    drawn: list[dict[str, Any]] = []
    while len(drawn) < count:
        (category, service, old), (other, another, new) = chance.sample(texts, 2)
        if category == other and service != another:
            drawn.append({"category": category, "service": None, "old": old, "new": new})
    return drawn


def figures(pair: dict[str, Any]) -> dict[str, float]:
    """Return the figures of a pair, its new text beside its old one."""
    words = relate.built_in()
    old, new = (
        relate.analyse(pair[side], words, service=pair["service"]) for side in ("old", "new")
    )
    return compare(old, new).figures


def rows(found: Sequence[dict[str, Any]]) -> list[Row]:
    """Return what to learn from: figures, label and weight."""
    taken: list[Row] = []
    for pair in found:
        label = LABELS.index(pair["label"])
        turned = {**pair, "old": pair["new"], "new": pair["old"]}
        taken += [(list(figures(each).values()), label, 0.5) for each in (pair, turned)]
    for pair in strangers(found, STRANGERS, seed=1):
        taken.append((list(figures(pair).values()), LABELS.index("new"), STRANGE_WEIGHT))
    return taken


def fitted(taken: Sequence[Row], penalty: float = PENALTY) -> list[list[float]]:
    """Return for each label its weights, the last of them its bias."""
    size = len(taken[0][0]) + 1
    weights = [[0.0] * size for _ in LABELS]
    ahead = [list(row) for row in weights]
    curve = sum(weight * (1 + sum(v * v for v in values)) for values, _, weight in taken) / 2
    step = 1 / (curve / 4 + penalty)
    for turn in range(ROUNDS):
        slope = _slope(taken, ahead, penalty)
        before = weights
        weights = [
            [w - step * g for w, g in zip(row, down, strict=True)]
            for row, down in zip(ahead, slope, strict=True)
        ]
        pace = turn / (turn + 3)
        ahead = [
            [w + pace * (w - old) for w, old in zip(row, last, strict=True)]
            for row, last in zip(weights, before, strict=True)
        ]
    return weights


def chances(weights: Sequence[Sequence[float]], values: Sequence[float]) -> list[float]:
    """Return how likely each label is."""
    scores = [
        row[-1] + sum(w * v for w, v in zip(row, values, strict=False) if v) for row in weights
    ]
    top = max(scores)
    shares = [exp(score - top) for score in scores]
    return [share / sum(shares) for share in shares]


def _slope(
    taken: Sequence[Row], weights: Sequence[Sequence[float]], penalty: float
) -> list[list[float]]:
    slope = [[penalty * w for w in row[:-1]] + [0.0] for row in weights]
    for values, label, weight in taken:
        for at, chance in enumerate(chances(weights, values)):
            off = weight * (chance - (at == label))
            row = slope[at]
            row[-1] += off
            for place, value in enumerate(values):
                if value:
                    row[place] += off * value
    return slope


def main() -> None:
    """Fit to all pairs but the unseen ones, and write the weights."""
    found = pairs("pairs")
    names = list(figures(found[0]))
    weights = fitted(rows(found))
    TARGET.write_text(
        json.dumps(
            {
                "names": names,
                "weights": [[round(w, 4) for w in row[:-1]] for row in weights],
                "bias": [round(row[-1], 4) for row in weights],
            },
            indent=1,
        )
        + "\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
