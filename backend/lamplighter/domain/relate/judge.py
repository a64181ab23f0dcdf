"""Decide how two observations stand to each other, and say why in words."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from importlib.resources import files
from math import exp
from typing import Final

from lamplighter.domain.relate.analysis import POLAR, Analysis, Measure, Word
from lamplighter.domain.relate.features import Compared, compared, heavy
from lamplighter.domain.relate.match import Match, match
from lamplighter.domain.relate.measures import QUANTITIES
from lamplighter.domain.relate.replaced import replaced, subject, valued
from lamplighter.domain.relate.slots import agreeing, differing
from lamplighter.domain.text import shortened

# Where the line is drawn, set on labelled pairs. The worst error is to take a contradiction for
# a reinforcement: what may well conflict is not reinforced, and what is not sure is not acted on.
APART: Final = 0.4
LIKELY: Final = 0.45  # below it not even every second conflict is one
UNSHOWN: Final = 0.55
EVIDENCE: Final = (
    "claim_net",
    "claim_ends",
    "claim_opposed",
    "claim_unlike",
    "swapped",
    "often",
    "amount",
    "only_one",
)
LEAST_ENDED: Final = 0.3
LEAST_SHARED: Final = 0.6
LEAST_COVER: Final = 0.2
CAUTION: Final = 1.6
DOUBT: Final = 0.35
DOUBTFUL: Final = 0.25
DOUBT_LONG: Final = 0.22  # of several claims one may conflict while the others agree
SURE: Final = 0.6  # where each says a word of weight that the other does not, or little is shared
FRAMED: Final = 0.75
THIN: Final = 0.45
LITTLE: Final = 0.97
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

    `p` is the share of labelled pairs with such a verdict that were judged rightly.
    """

    relation: Relation
    reason: str
    p: float = 1.0
    word_for_word: bool = False

    @property
    def label(self) -> str:
        """What an observation is to the held one: `reinforce`, `contradict` or `new`."""
        return _LABELS[self.relation]

    @property
    def sure(self) -> bool:
        """Whether it may be acted on; what is not sure is kept as new."""
        return self.relation is not Relation.UNSURE


def calibrated(verdict: Verdict) -> Verdict:
    """Return a verdict with the share of such verdicts that are right, for its own score."""
    steps = calibration()[verdict.relation.value]
    p = next((p for least, p in reversed(steps) if verdict.p >= least), steps[0][1])
    return replace(verdict, p=p)


@cache
def calibration() -> dict[str, list[tuple[float, float]]]:
    """Return for each relation the scores from which on a share of its verdicts is right."""
    text = files(__package__).joinpath("calibration.json").read_text(encoding="utf-8")
    found: dict[str, list[tuple[float, float]]] = json.loads(text)
    return found


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
    return calibrated(raw(new, held, by))


def raw(new: Analysis, held: Analysis, by: Weights | None = None) -> Verdict:
    """Judge two observations; `p` is the score of the verdict, not yet calibrated."""
    whole = match(held.clauses, new.clauses)
    if whole.least < LEAST_COVER and whole.size < LEAST_SHARED:
        return Verdict(Relation.UNRELATED, "they have little in common", LITTLE)
    found = compared(held, new, whole)
    labels = [pair for pair in whole.measures.unlike if _labels(pair)]
    if labels:
        old, other = labels[0]
        return Verdict(
            Relation.UNRELATED, f"about another one: {_measured(other)}, not {_measured(old)}"
        )
    return _slotted(held, new, found) or _judged(found, *(by or weights()).chances(found.figures))


def _slotted(held: Analysis, new: Analysis, found: Compared) -> Verdict | None:
    """Judge two texts that give one attribute of a subject a value; None where they do not."""
    pair = differing(held.slots, new.slots)
    if pair is not None:
        old, other = pair
        reason = f"says {_short(other.shown)} where the other says {_short(old.shown)}"
        return Verdict(Relation.CONFLICTING, reason, FRAMED)
    same = agreeing(held.slots, new.slots)
    alone = len(held.clauses) == len(new.clauses) == 1
    if same is None or not alone or found.figures["unlike"]:
        return None
    return Verdict(Relation.SAME, "says the same in other words", FRAMED)


def _short(words: str) -> str:
    return shortened(words, REASON_CHARS)


def _judged(found: Compared, same: float, conflicting: float, apart: float) -> Verdict:
    if apart >= APART:
        if conflicting > DOUBTFUL and not found.figures["condition_any"]:
            return Verdict(Relation.UNSURE, f"may conflict: {_conflict(found)}", conflicting)
        return Verdict(Relation.UNRELATED, _apart(found), apart)
    of_one_frame = _in_one_frame(found)
    if of_one_frame is not None:
        return of_one_frame
    return _weighed(found, same, conflicting)


def _weighed(found: Compared, same: float, conflicting: float) -> Verdict:
    if conflicting * CAUTION > same and conflicting >= _least(found.figures):
        return Verdict(Relation.CONFLICTING, _conflict(found), conflicting)
    if same < SURE and (found.figures["one_each"] or found.whole.least < THIN):
        return Verdict(Relation.UNRELATED, _apart(found), same)
    if _doubtful(found, same, conflicting):
        return Verdict(Relation.UNSURE, f"may conflict: {_conflict(found)}", conflicting)
    return Verdict(Relation.SAME, _same(found), same)


def _least(figures: Mapping[str, float]) -> float:
    """Return how likely a conflict has to be: of several claims, one has to show it."""
    shown = any(figures[name] for name in EVIDENCE)
    return LIKELY if shown or not figures["clauses"] else UNSHOWN


def _doubtful(found: Compared, same: float, conflicting: float) -> bool:
    """Whether two texts that seem the same may conflict after all."""
    most = DOUBT_LONG if found.figures["clauses"] else DOUBT
    likely = conflicting * CAUTION > same or conflicting > most
    other = _ends_otherwise(found.figures) or bool(replaced(found.whole, POLAR))
    return likely or other or _other_fillers(found.whole)


def _ends_otherwise(figures: Mapping[str, float]) -> bool:
    """Whether two texts of one subject and condition end well and badly."""
    other = figures["heavy_both"] or figures["condition_any"]
    return bool(figures["ends_apart"]) and not other and figures["cover_least"] >= LEAST_ENDED


def _in_one_frame(found: Compared) -> Verdict | None:
    """Judge two texts of one sentence in which a word was replaced; None where none was.

    They are never the same. Of another subject or under another condition both may be true;
    one value for another conflicts; of any other word we cannot tell.
    """
    gaps = replaced(found.whole)
    if not gaps or _denies(found):
        return None
    left, right = ([word for gap in gaps for word in gap[side]] for side in (0, 1))
    words = [*left, *right]
    clauses = [*found.whole.old, *found.whole.new]
    if any(word.condition or subject(word, clauses) for word in words):
        return Verdict(Relation.UNRELATED, _apart(found), FRAMED)
    if all(valued(word, clauses) for word in words):
        return Verdict(Relation.CONFLICTING, _conflict(found), FRAMED)
    return Verdict(Relation.UNSURE, f"may conflict: {_conflict(found)}", FRAMED)


def _other_fillers(whole: Match) -> bool:
    """Whether each names something that the other does not: a host, a path, a port, a version."""
    left = _named(whole.left, whole.measures.left)
    right = _named(whole.right, whole.measures.right)
    return bool(whole.measures.unlike) or (left and right)


def _named(words: Sequence[Word], measures: Sequence[Measure]) -> bool:
    return any(each.name for each in words) or any(each.kind not in QUANTITIES for each in measures)


def _denies(found: Compared) -> bool:
    """Whether two texts differ in more than the replaced words."""
    figures = found.figures
    names = ("net", "opposed", "unlike", "swapped", "often", "amount", "only_one")
    return any(figures[name] for name in names)


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
