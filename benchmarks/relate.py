"""How well relate judges labelled pairs, the contribution of each part, and the cost.

The weights were fitted to `pairs`: its own score says little; `folds` is each fifth judged by
weights that were fitted to the other four. No weights were fitted to `unseen`, `kinds_held`,
`plain_held`, `phenomena_held`, `domains_held` or `two_clauses`, which a written rule generates
(`benchmarks/two_clauses.py`). The thresholds of `judge.py` were chosen with the scores of
`unseen` and `two_clauses` in view.
"""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from statistics import median
from typing import Any, Final

from benchmarks import fit
from benchmarks.measure import sized, spread, timed
from lamplighter.domain import relate
from lamplighter.domain.relate import Analysis
from lamplighter.domain.relate.analysis import Clause, ClauseWord
from lamplighter.domain.relate.features import Weights
from lamplighter.domain.relate.judge import judge
from lamplighter.domain.text import comparison_key

HELD: Final = (
    *("unseen", "outcomes", "two_clauses", "kinds_held", "plain_held"),
    *("phenomena_held", "domains_held"),
)

Pair = dict[str, Any]
Judge = Callable[[Pair], str]

FOLDS: Final = 5
EACH: Final = sized(1, short=12)
"""One of so many pairs of a set is judged."""

STRANGERS: Final = sized(3_000, short=100)


def run() -> dict[str, Any]:
    """Return scores, the contribution of each part, and microseconds."""
    seen = fit.pairs("pairs")[::EACH]
    return {
        "in_sample": _score(seen, _by()),
        "folds": _folds(seen),
        **{name: _score(fit.pairs(name)[::EACH], _by()) for name in HELD},
        "strangers": _strangers(seen),
        "ablation": {name: _score(seen, _by(without)) for name, without in WITHOUT.items()},
        "cost": _cost(seen),
    }


def _by(
    without: Callable[[Analysis], Analysis] = lambda each: each,
    weights: Weights | None = None,
) -> Judge:
    """Return the verdict on a pair if a part of its analyses is blanked."""

    def label(pair: Pair) -> str:
        if comparison_key(pair["old"]) == comparison_key(pair["new"]):
            return "reinforce"
        new, old = (without(_analysed(pair, side)) for side in ("new", "old"))
        return judge(new, old, weights).label

    return label


def _analysed(pair: Pair, side: str) -> Analysis:
    return relate.analyze(pair[side], relate.builtin_lexicon(), service=pair["service"])


def _score(found: Sequence[Pair], by: Judge) -> dict[str, Any]:
    return _told([(pair["label"], by(pair)) for pair in found])


def _told(judged: Iterable[tuple[str, str]]) -> dict[str, Any]:
    found = Counter(judged)
    meant, said = Counter[str](), Counter[str]()
    for (own, other), count in found.items():
        meant[own] += count
        said[other] += count
    f1 = [
        2 * found[each, each] / (meant[each] + said[each])
        for each in fit.LABELS
        if meant[each] + said[each]
    ]
    others = meant.total() - meant["contradict"]
    wrongly = said["contradict"] - found["contradict", "contradict"]
    return {
        "n": meant.total(),
        "macro_f1": round(sum(f1) / len(f1), 4),
        "contradict_as_reinforce": round(
            found["contradict", "reinforce"] / max(1, meant["contradict"]), 4
        ),
        "false_contradict": round(wrongly / others, 4),
        "confusion": {
            own: {other: found[own, other] for other in fit.LABELS} for own in fit.LABELS
        },
    }


def _folds(found: Sequence[Pair]) -> dict[str, Any]:
    order = list(found)
    random.Random(7).shuffle(order)
    names = tuple(fit.figures(found[0]))
    judged: list[tuple[str, str]] = []
    for fold in range(FOLDS):
        held = order[fold::FOLDS]
        rows = fit.fitted(fit.rows([pair for pair in order if pair not in held]))
        weights = Weights(names, tuple(tuple(row[:-1]) for row in rows), tuple(r[-1] for r in rows))
        by = _by(weights=weights)
        judged += [(pair["label"], by(pair)) for pair in held]
    return _told(judged)


def _strangers(found: Sequence[Pair]) -> dict[str, float]:
    by = _by()
    drawn = fit.strangers(found, STRANGERS, seed=5)
    matched = sum(by(pair) != "new" for pair in drawn)
    return {"n": len(drawn), "matched": matched, "share": round(matched / len(drawn), 4)}


def _no_measures(each: Analysis) -> Analysis:
    return _with(each, lambda clause: replace(clause, measures=()))


def _no_polarity(each: Analysis) -> Analysis:
    def blank(clause: Clause) -> Clause:
        words = tuple(map(_one_sided, clause.tokens))
        plain = replace(clause, tokens=words, denials=0, denied_conditions=0, cancels=False)
        return replace(
            plain, often=None, amount="", only=False, first=frozenset(), then=frozenset()
        )

    return _with(each, blank)


def _one_sided(word: ClauseWord) -> ClauseWord:
    return replace(word, senses=tuple(replace(each, sign=1, tells=1) for each in word.senses))


def _no_lexicon(each: Analysis) -> Analysis:
    """Let every word mean itself only."""

    def bare(word: ClauseWord) -> ClauseWord:
        root = relate.builtin_lexicon().root(word.surface)
        return replace(word, senses=(replace(word.senses[0], key=root, sign=1, tells=1),))

    return _with(each, lambda clause: replace(clause, tokens=tuple(map(bare, clause.tokens))))


def _no_clauses(each: Analysis) -> Analysis:
    """Read the whole text as one claim."""
    if not each.clauses:
        return each
    whole = replace(
        each.clauses[0],
        tokens=tuple(word for clause in each.clauses for word in clause.tokens),
        measures=tuple(measure for clause in each.clauses for measure in clause.measures),
        denials=sum(clause.denials for clause in each.clauses),
        denied_conditions=sum(clause.denied_conditions for clause in each.clauses),
        otherwise=False,
    )
    return replace(each, clauses=(whole,))


def _with(each: Analysis, change: Callable[[Clause], Clause]) -> Analysis:
    return replace(each, clauses=tuple(map(change, each.clauses)))


WITHOUT: Final = {
    "without_measures": _no_measures,
    "without_polarity_and_opposites": _no_polarity,
    "without_lexicon": _no_lexicon,
    "without_clauses": _no_clauses,
}


def _cost(found: Sequence[Pair]) -> dict[str, Any]:
    """Time each step per pair after a first round that fills the caches, and json.loads."""
    times: dict[str, list[float]] = {"analyse": [], "judge": [], "json": []}
    cold: dict[str, list[float]] = {name: [] for name in times}
    for taken in (cold, times):
        for pair in found:
            new, old = _analysed(pair, "new"), _analysed(pair, "old")
            text = json.dumps(pair["new"])
            taken["analyse"].append(timed(partial(_analysed, pair, "new")))
            taken["judge"].append(timed(partial(judge, new, old)))
            taken["json"].append(timed(partial(json.loads, text)))
    bare = median(times["json"])
    return {
        name: {
            "p50_us": round(median(times[name]) * 1e6),
            "p95_us": round(spread(times[name], unit=1e6)["p95_ms"]),
            "times_json": round(median(times[name]) / bare),
        }
        for name in ("analyse", "judge")
    }
