"""Decide how two observations stand to each other, and say why in words."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from math import exp
from typing import Final

from lamplighter.domain.relate.analysis import Analysis, Measure, Word
from lamplighter.domain.relate.features import Compared, compared, heavy
from lamplighter.domain.relate.match import match
from lamplighter.domain.text import shortened

# Where the line is drawn, set on labelled pairs. The worst error is to take a contradiction for
# a reinforcement: what may well conflict is not reinforced, and what is not sure is not acted on.
APART: Final = 0.3
LEAST_SHARED: Final = 0.6
LEAST_COVER: Final = 0.2
CAUTION: Final = 1.6
DOUBT: Final = 0.25
SURE: Final = 0.9  # where each says a word of weight that the other does not, or little is shared
THIN: Final = 0.45
REASON_CHARS: Final = 300


class Relation(StrEnum):
    """What a new observation says of a held one."""

    SAME = "same"
    CONFLICTING = "conflicting"
    UNRELATED = "unrelated"
    UNSURE = "unsure"


_LABELS: Final = {
    Relation.SAME: "reinforce",
    Relation.CONFLICTING: "contradict",
    Relation.UNRELATED: "new",
    Relation.UNSURE: "new",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """How two observations stand to each other, how likely that is, and why in words.

    `likely` is from 0 to 1; it ranks several of one kind and is not a probability.
    """

    relation: Relation
    reason: str
    likely: float = 1.0
    word_for_word: bool = False

    @property
    def label(self) -> str:
        """What an observation is to the held one: `reinforce`, `contradict` or `new`."""
        return _LABELS[self.relation]

    @property
    def sure(self) -> bool:
        """Whether it may be acted on; what is not sure is kept as new."""
        return self.relation is not Relation.UNSURE


@dataclass(frozen=True, slots=True)
class Weights:
    """A linear model over the figures of a comparison: same, conflicting, unrelated."""

    names: tuple[str, ...]
    rows: tuple[tuple[float, ...], ...]
    bias: tuple[float, ...]

    def chances(self, figures: Mapping[str, float]) -> list[float]:
        """Return how likely each of the three is; they add up to 1."""
        values = [figures[name] for name in self.names]
        scores = [
            bias + sum(weight * value for weight, value in zip(row, values, strict=True))
            for row, bias in zip(self.rows, self.bias, strict=True)
        ]
        top = max(scores)
        shares = [exp(score - top) for score in scores]
        return [share / sum(shares) for share in shares]


@cache
def weights() -> Weights:
    """Return the weights that come with the product; `benchmarks/fit.py` made them."""
    found = json.loads(files(__package__).joinpath("weights.json").read_text(encoding="utf-8"))
    return Weights(tuple(found["names"]), tuple(map(tuple, found["weights"])), tuple(found["bias"]))


def judge(new: Analysis, held: Analysis, by: Weights | None = None) -> Verdict:
    """Say how a new observation stands to a held one of the same service and category.

    Deterministic. Rules say what two texts have in common and where they part; a fixed
    linear model weighs it; what it is not sure of is said to be unsure.
    """
    whole = match(held.clauses, new.clauses)
    if whole.least < LEAST_COVER and whole.size < LEAST_SHARED:
        return Verdict(Relation.UNRELATED, "they have little in common")
    found = compared(held, new, whole)
    labels = [pair for pair in whole.measures.unlike if _labels(pair)]
    if labels:
        old, other = labels[0]
        return Verdict(
            Relation.UNRELATED, f"about another one: {_measured(other)}, not {_measured(old)}"
        )
    same, conflicting, apart = (by or weights()).chances(found.figures)
    if apart >= APART:
        return Verdict(Relation.UNRELATED, _apart(found), apart)
    if conflicting * CAUTION > same:
        return Verdict(Relation.CONFLICTING, _conflict(found), conflicting)
    if same < SURE and (found.figures["one_each"] or whole.least < THIN):
        return Verdict(Relation.UNRELATED, _apart(found), same)
    if conflicting > DOUBT:
        return Verdict(Relation.UNSURE, f"may conflict: {_conflict(found)}", conflicting)
    return Verdict(Relation.SAME, _same(found), same)


def _labels(pair: tuple[Measure, Measure]) -> bool:
    """Whether two measures are the names of two things of one kind: worker 1 and worker 2."""
    return "label" in (pair[0].kind, pair[1].kind)


def _same(found: Compared) -> str:
    measures = [(a, b) for a, b in found.whole.measures.same if a.text != b.text]
    if measures:
        old, new = measures[0]
        return f"says the same: {new.text} for {old.text}"
    return "says the same in other words"


def _apart(found: Compared) -> str:
    """Name what makes two texts two facts: another thing, another condition, or little shared."""
    left, right = heavy(found.whole.left), heavy(found.whole.right)
    conditions = [word for word in right if word.condition]
    if conditions:
        return f"under another condition: {_said(conditions)}"
    if left and right:
        return f"about something else: {_said(right)}, not {_said(left)}"
    return "another fact about it"


def _conflict(found: Compared) -> str:
    """Name the strongest thing that both cannot have."""
    unlike = found.whole.measures.unlike or found.best.measures.unlike
    if unlike:
        old, new = unlike[0]
        return f"says {_measured(new)} where the other says {_measured(old)}"
    opposed = [pair for pair in found.whole.pairs if pair.opposed]
    if opposed:
        pair = opposed[0]
        return f"says {pair.new.shown} where the other says {pair.old.shown}"
    if found.figures["swapped"]:
        return "puts them in the other order"
    if found.figures["net"]:
        return "denies what the other says"
    left, right = heavy(found.whole.left), heavy(found.whole.right)
    if left and right:
        return f"says {_said(right)} where the other says {_said(left)}"
    return "both cannot be true"


def _said(words: Sequence[Word]) -> str:
    return shortened(" ".join(word.shown for word in words[:4]), REASON_CHARS)


def _measured(measure: Measure) -> str:
    bound = {"min": "at least ", "max": "at most ", "below": "below "}.get(measure.bound, "")
    return f"{bound}{shortened(measure.text.removeprefix('id_'), 80)}"
