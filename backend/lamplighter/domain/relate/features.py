"""Features of two analyzed observations, as numbers."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import exp
from operator import mul
from typing import Final

from lamplighter.domain.relate.analysis import LIGHT, Analysis, Clause, ClauseWord
from lamplighter.domain.relate.match import HEAVY, Match, match
from lamplighter.domain.relate.measures import QUANTITIES
from lamplighter.domain.relate.outcome import compare_outcomes

MOST: Final = 3.0
MOST_GAP: Final = 4
_RETURNS: Final = ("came back", "come back", "comes back", "return", "reappear", "recur", "reoccur")
_SHARED: Final = 0.2
SAME_CLAIM: Final = 0.99


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of two observations: all clauses, the closest claims, and features."""

    whole: Match
    best: Match
    figures: dict[str, float]
    ends: int


def compare(old: Analysis, new: Analysis) -> Comparison:
    """Compare two observations."""
    return build_comparison(old, new, match(old.clauses, new.clauses))


def build_comparison(old: Analysis, new: Analysis, whole: Match) -> Comparison:
    """Build the comparison of two matched observations, with their features."""
    alone = len(old.clauses) == len(new.clauses) == 1
    claims = [whole] if alone else align_claims(old.claims, new.claims)
    best = max(claims, key=lambda m: m.cover[0] * m.cover[1] * m.size, default=Match((), ()))
    swapped, in_order = order_agreement(old, new)
    ends = ending_sign(old.claims) * ending_sign(new.claims)
    figures = {
        **coverage(whole, best),
        **_measure_figures(whole),
        **_polarity_figures(old, new, whole, best, swapped),
        **_other_figures(old, new, whole, best),
        **_claim_figures(claims),
        "ends_apart": float(ends < 0),
        "ends_agree": float(ends > 0),
        "relapse": float(_has_relapse(old) != _has_relapse(new)),
        **_outcome_figures(claims, whole),
        "swapped": swapped,
        "kept_order": in_order,
    }
    return Comparison(whole, best, {**figures, **_interactions(figures)}, _compare_ends(best))


def align_claims(old: Sequence[Clause], new: Sequence[Clause]) -> list[Match]:
    """Match each new claim with the old one that covers most of it."""
    found = []
    for claim in new if old else ():
        tried = [match((each,), (claim,)) for each in old]
        found.append(max(tried, key=lambda m: m.cover[0] * m.cover[1] * m.size))
    return found


def remove_shared_claims(
    old: Sequence[Clause], new: Sequence[Clause]
) -> tuple[tuple[Clause, ...], tuple[Clause, ...]]:
    """Return the clauses of two texts without those that both have."""
    left, right = list(old), list(new)
    for one in old:
        same = next((each for each in right if _is_same_claim(one, each)), None)
        if same is not None:
            left.remove(one)
            right.remove(same)
    return tuple(left), tuple(right)


def _is_same_claim(one: Clause, two: Clause) -> bool:
    m = match((one,), (two,))
    return m.least >= SAME_CLAIM and not is_flipped(m)


def coverage(whole: Match, best: Match) -> dict[str, float]:
    """Return how much two texts share, and the weight of the words of only one of them."""
    old, new = whole.cover
    heavy_left, heavy_right = heavy_words(whole.left), heavy_words(whole.right)
    left = min(MOST, sum(word.weight for word in whole.left))
    right = min(MOST, sum(word.weight for word in whole.right))
    return {
        "cover_old": old,
        "cover_new": new,
        "cover_least": min(old, new),
        "cover_most": max(old, new),
        "cover_both": old * new,
        "claim_least": best.least,
        "claim_most": max(best.cover),
        "left": left,
        "right": right,
        "left_and_right": min(left, right),
        "heavy_left": min(MOST, len(heavy_left)),
        "heavy_right": min(MOST, len(heavy_right)),
        "heavy_both": float(bool(heavy_left) and bool(heavy_right)),
        "heavy_none": float(not heavy_left and not heavy_right),
        "heavy_two": float(len(heavy_left) > 1 and len(heavy_right) > 1),
        "one_each": float(len(heavy_left) == len(heavy_right) == 1),
    }


def heavy_words(words: Sequence[ClauseWord]) -> list[ClauseWord]:
    """Return the words that change a fact: no light words, and no ends of an axis."""
    return [word for word in words if word.weight >= HEAVY]


def _measure_figures(whole: Match) -> dict[str, float]:
    unlike = whole.measures.unlike
    labels = [pair for pair in unlike if "label" in (pair[0].kind, pair[1].kind)]
    amounts = [pair for pair in unlike if pair[0].kind in QUANTITIES and pair[1].kind in QUANTITIES]
    left, right = bool(whole.measures.left), bool(whole.measures.right)
    return {
        "unlike_amount": float(bool(amounts)),
        "unlike_name": float(len(unlike) > len(labels) + len(amounts)),
        "unlike_label": float(bool(labels)),
        "unlike": float(len(unlike) > len(labels)),
        "same_measure": float(bool(whole.measures.same)),
        "measure_left": float(left),
        "measure_right": float(right),
        "measure_both": float(left and right),
    }


def _polarity_figures(
    old: Analysis, new: Analysis, whole: Match, best: Match, swapped: float
) -> dict[str, float]:
    opposed = [pair for pair in whole.pairs if pair.opposed and not pair.opposite_signs]
    signs = [pair for pair in whole.pairs if pair.opposite_signs]
    lone_left, lone_right = count_denials(whole.left) % 2, count_denials(whole.right) % 2
    head = count_denied(old.claims[:1]) + count_denied(new.claims[:1])
    matched = (head + len(opposed) + len(signs) + int(swapped)) % 2
    alone = len(old.clauses) == len(new.clauses) == 1
    flip = is_flipped(whole if alone else best, swapped)
    known = _compare_ends(best)
    if known:
        flip = int(known < 0)
    return {
        "opposed": float(len(opposed) % 2),
        "told": float(len(signs) % 2),
        "lone_left": float(lone_left),
        "lone_right": float(lone_right),
        "net": float(flip),
        "net_matched": float(matched),
        "net_claim": float(is_flipped(best)),
        "denials": float(head % 2),
        "often": frequency_gap(old, new, turned=len(opposed + signs) % 2 > 0),
        "amount": float({quantifier(old), quantifier(new)} == {"all", "some"}),
        "only_one": float(
            any(each.only for each in old.clauses) != any(each.only for each in new.clauses)
        ),
    }


def is_flipped(m: Match, swapped: float = 0.0) -> int:
    """Return 1 if one text affirms and the other denies the claim, else 0."""
    unlike = sum(pair.opposed or pair.opposite_signs for pair in m.pairs)
    lone_ones = count_denials((*m.left, *m.right))
    return (count_denied(m.old) + count_denied(m.new) + unlike + lone_ones + int(swapped)) % 2


def count_denials(words: Sequence[ClauseWord]) -> int:
    """Count the negative words, except the events of a condition: "after a crash"."""
    return sum(word.senses[0].tells < 0 and not word.incidental for word in words)


def count_denied(claims: Sequence[Clause]) -> int:
    """Count negations; `until` and `unless` cancel an earlier one."""
    total = 0
    for clause in claims:
        denials = clause.denials + clause.denied_conditions
        if clause.cancels:
            negative = sum(word.senses[0].tells < 0 for word in clause.tokens)
            denials += -1 if denials else negative % 2
        total += denials
    return total


def frequency_gap(old: Analysis, new: Analysis, *, turned: bool = False) -> float:
    """Return the distance between two frequencies, never to always, from 0 to 1.

    With `turned` the texts speak of opposites: what is never partial is always complete.
    """
    one = next((each.often for each in old.clauses if each.often is not None), None)
    two = next((each.often for each in new.clauses if each.often is not None), None)
    if one is None or two is None:
        return 0.0
    return abs(4 - one - two if turned else one - two) / 4


def quantifier(one: Analysis) -> str:
    """Return the quantifier, all or some; "" for none."""
    return next((each.amount for each in one.clauses if each.amount), "")


def order_agreement(old: Analysis, new: Analysis) -> tuple[float, float]:
    """Return whether two claims state opposite orders in time, and whether the same order."""
    one = next((each for each in old.clauses if each.first or each.then), None)
    two = next((each for each in new.clauses if each.first or each.then), None)
    if one is None or two is None:
        return 0.0, 0.0
    straight = len(one.first & two.first) + len(one.then & two.then)
    back, forth = len(one.first & two.then), len(one.then & two.first)
    swapped = bool(back and forth) and back + forth >= straight
    return float(swapped), float(straight > back + forth)


def _other_figures(old: Analysis, new: Analysis, whole: Match, best: Match) -> dict[str, float]:
    left, right = heavy_words(whole.left), heavy_words(whole.right)
    conditions = [any(word.condition for word in side) for side in (left, right)]
    subject_left, object_left = _split_sides(best.old, best.left)
    subject_right, object_right = _split_sides(best.new, best.right)
    single = any(each.single for each in (*best.old, *best.new))
    objects = bool(object_left and object_right) and not (subject_left or subject_right)
    one_each = len(left) == len(right) == 1
    return {
        "condition_left": float(conditions[0]),
        "condition_right": float(conditions[1]),
        "condition_both": float(all(conditions)),
        "condition_any": float(any(conditions)),
        "subjects": float(bool(subject_left and subject_right)),
        "single": float(objects and single),
        "several": float(objects and not single),
        "one_each_single": float(one_each and single),
        "one_name_each": float(one_each and left[0].name and right[0].name),
        "clauses": float(len(old.clauses) > 1) + float(len(new.clauses) > 1),
    }


def _split_sides(
    clauses: Sequence[Clause], words: Sequence[ClauseWord]
) -> tuple[list[ClauseWord], list[ClauseWord]]:
    """Split the rest of a claim into the parts before and after its verb."""
    rest = [word for word in heavy_words(words) if not word.condition]
    verb = clauses[0].predicate if clauses else -1
    if verb < 0:
        return rest, []
    return [w for w in rest if w.place < verb], [w for w in rest if w.place > verb]


def _claim_figures(claims: Sequence[Match]) -> dict[str, float]:
    figures = dict.fromkeys(
        ("claim_net", "claim_agrees", "claim_unlike", "claim_ends", "claim_opposed"), 0.0
    )
    for each in claims:
        if each.cover[0] * each.cover[1] <= _SHARED:
            continue
        flip = is_flipped(each)
        opposed = sum(p.opposed or p.opposite_signs for p in each.pairs)
        matched = count_denied(each.old) + count_denied(each.new) + opposed
        ends = ending_sign(each.old) * ending_sign(each.new)
        claim_values = {
            "claim_net": flip * (matched % 2),
            "claim_agrees": 1 - flip,
            "claim_unlike": bool(each.measures.unlike),
            "claim_ends": ends < 0,
            "claim_opposed": opposed > 0 and matched % 2 and ends <= 0,
        }
        for name, value in claim_values.items():
            figures[name] = max(figures[name], each.least * value)
    return figures


def _compare_ends(m: Match) -> int:
    """Compare the outcomes of two claims; an odd number of other antonyms inverts the result."""
    if not m.old or not m.new:
        return 0
    other = [p for p in m.pairs if p.opposed and not (p.old.ending or p.new.ending)]
    if any(pair.old.condition or pair.new.condition for pair in other):
        return 0
    return compare_outcomes(m.old[0].outcome, m.new[0].outcome, turned=len(other) % 2 > 0)


def _outcome_figures(claims: Sequence[Match], whole: Match) -> dict[str, float]:
    """Return whether the outcomes of claims on one topic agree, and how much they share."""
    apart = agree = 0.0
    for each in claims:
        found = _compare_ends(each)
        share = _topic(each)
        if found < 0:
            apart = max(apart, share)
        elif found > 0:
            agree = max(agree, share)
    left, right = (
        [w for w in heavy_words(side) if not w.ending] for side in (whole.left, whole.right)
    )
    none, both = not left and not right, bool(left) and bool(right)
    return {
        "topic": _topic(whole),
        "topic_none": float(none),
        "topic_both": float(both),
        "out_apart": float(apart > 0),
        "out_apart_topic": apart,
        "out_apart_none": apart * none,
        "out_apart_both": apart * both,
        "out_agree": float(agree > 0),
        "out_agree_topic": agree,
        "out_agree_none": agree * none,
        "out_agree_both": agree * both,
    }


def _topic(m: Match) -> float:
    """Return the share of significant words that both contain, outcomes aside."""
    hit = sum(p.old.weight for p in m.pairs if not p.old.ending and p.old.weight > LIGHT)
    left, right = (
        sum(w.weight for w in side if not w.ending and w.weight > LIGHT)
        for side in (m.left, m.right)
    )
    return hit / (hit + max(left, right)) if hit else 0.0


def ending_sign(claims: Sequence[Clause]) -> int:
    """Return +1 for a text with a good outcome, -1 for a bad one, 0 for neither."""
    total = 0
    for clause in claims:
        ends = _ending(clause.tokens)
        denials = clause.denials + (clause.denied_conditions if clause.only else 0)
        total += -ends if denials % 2 else ends
    return (total > 0) - (total < 0)


def _ending(tokens: Sequence[ClauseWord]) -> int:
    """Return the outcome of a claim, before its negations.

    A remedy is a good outcome whatever it cures: "fixed the crash" is like "no crash". Trouble that
    ceases is good, trouble that persists is bad.
    """
    effects = {word.effect for word in tokens}
    if relapses(tokens, gap=1):
        return -1
    if "remedies" in effects:
        return 1
    trouble = any(word.end < 0 or word.senses[0].tells < 0 for word in tokens if not word.effect)
    if "ceases" in effects and trouble:
        return 1
    if "persists" in effects:
        return -1 if trouble or "ceases" in effects else 1
    return sum(word.end for word in tokens)


def _has_relapse(one: Analysis) -> bool:
    return any(relapses(clause.tokens) for clause in one.clauses)


def relapses(tokens: Sequence[ClauseWord], gap: int = MOST_GAP) -> bool:
    """Whether trouble comes back: a word for trouble is the subject of a word for a return."""
    return any(
        0 < again.place - each.place <= gap
        for again in tokens
        if again.label.startswith(_RETURNS)
        for each in tokens
        if (each.end < 0 or each.senses[0].tells < 0) and not each.condition
    )


def _interactions(f: dict[str, float]) -> dict[str, float]:
    """Return features that combine two others."""
    cover, none, both = f["cover_least"], f["heavy_none"], f["heavy_both"]
    agreed = f["net"] * f["net_matched"]
    long = float(f["clauses"] > 0)
    return {
        "ends_cover": f["ends_apart"] * cover,
        "ends_none": f["ends_apart"] * none,
        "ends_condition": f["ends_apart"] * f["condition_any"],
        "ends_agree_net": f["ends_agree"] * f["net"],
        "ends_agree_cover": f["ends_agree"] * cover,
        "long_cover": long * cover,
        "long_net": long * f["net"],
        "long_opposed": long * f["opposed"],
        "long_claim_net": long * f["claim_net"],
        "long_claim_unlike": long * f["claim_unlike"],
        "long_claim_ends": long * f["claim_ends"],
        "long_claim_opposed": long * f["claim_opposed"],
        "net_agreed": agreed,
        "net_agreed_none": agreed * none,
        "net_agreed_cover": agreed * cover,
        "net_claims": f["net"] * f["net_claim"],
        "net_cover": f["net"] * cover,
        "net_none": f["net"] * none,
        "net_both": f["net"] * both,
        "net_condition": f["net"] * f["condition_any"],
        "opposed_cover": f["opposed"] * cover,
        "opposed_none": f["opposed"] * none,
        "opposed_both": f["opposed"] * both,
        "unlike_cover": f["unlike"] * cover,
        "unlike_none": f["unlike"] * none,
        "unlike_both": f["unlike"] * both,
        "unlike_condition": f["unlike"] * f["condition_any"],
    }


@dataclass(frozen=True, slots=True)
class Weights:
    """A linear model over the features of a comparison: same, conflicting, unrelated."""

    names: tuple[str, ...]
    rows: tuple[tuple[float, ...], ...]
    bias: tuple[float, ...]

    def chances(self, figures: Mapping[str, float]) -> list[float]:
        """Return the probabilities of the three relations; they add up to 1."""
        values = [figures[name] for name in self.names]
        scores = [
            bias + sum(map(mul, row, values))
            for row, bias in zip(self.rows, self.bias, strict=True)
        ]
        top = max(scores)
        shares = [exp(score - top) for score in scores]
        return [share / sum(shares) for share in shares]


@cache
def load_weights() -> Weights:
    """Return the weights that ship with the product; `benchmarks/fit.py` computed them."""
    found = json.loads(files(__package__).joinpath("weights.json").read_text(encoding="utf-8"))
    return Weights(tuple(found["names"]), tuple(map(tuple, found["weights"])), tuple(found["bias"]))
