"""Fit the weights of relate to the labelled pairs: `python -m benchmarks.fit`.

Multinomial logistic regression with an L2 penalty by accelerated gradient descent. Each pair is
used in both directions, together with pairs of unrelated texts, because most pairs of a real stream
are unrelated. The same pairs give the same weights.
"""

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from lamplighter.domain import relate
from lamplighter.domain.relate.features import compare

PAIRS: Final = Path(__file__).parent.parent / "tests" / "data" / "relate"
TARGET: Final = Path(relate.__file__).with_name("weights.json")
LABELS: Final = ("reinforce", "contradict", "new")
SETS: Final = ("pairs", "outcomes", "kinds", "kinds_more")
# a false contradiction costs a sound memory: conflicts weigh a little less
WEIGHTS: Final = {"reinforce": 1.1, "contradict": 0.8, "new": 1.1}
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
    """Return pairs of texts of one category about different services."""
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
    """Return the features of a pair of a new and an old text."""
    words = relate.builtin_lexicon()
    old, new = (
        relate.analyze(pair[side], words, service=pair["service"]) for side in ("old", "new")
    )
    return compare(old, new).figures


def rows(found: Sequence[dict[str, Any]]) -> list[Row]:
    """Return the training rows: features, label and weight."""
    taken: list[Row] = []
    for pair in found:
        label = LABELS.index(pair["label"])
        turned = {**pair, "old": pair["new"], "new": pair["old"]}
        weight = WEIGHTS[pair["label"]] / 2
        taken += [(list(figures(each).values()), label, weight) for each in (pair, turned)]
    for pair in strangers(found, STRANGERS, seed=1):
        taken.append((list(figures(pair).values()), LABELS.index("new"), STRANGE_WEIGHT))
    return taken


def fitted(taken: Sequence[Row], penalty: float = PENALTY) -> list[list[float]]:
    """Return the weights of each label; the last weight is the bias."""
    values = np.array([[*row, 1.0] for row, _, _ in taken])
    meant = np.eye(len(LABELS))[[label for _, label, _ in taken]]
    share = np.array([weight for _, _, weight in taken])
    weights = np.zeros((len(LABELS), values.shape[1]))
    ahead = weights
    shrink = np.full_like(weights, penalty)
    shrink[:, -1] = 0.0
    step = 1 / ((share * (values**2).sum(axis=1)).sum() / 8 + penalty)
    for turn in range(ROUNDS):
        scores = np.exp((found := values @ ahead.T) - found.max(axis=1, keepdims=True))
        off = (scores / scores.sum(axis=1, keepdims=True) - meant) * share[:, None]
        before, weights = weights, ahead - step * (off.T @ values + shrink * ahead)
        ahead = weights + turn / (turn + 3) * (weights - before)
    return [[float(each) for each in row] for row in weights]


def main() -> None:
    """Fit the weights to the development sets, and write them."""
    found = [pair for name in SETS for pair in pairs(name)]
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
