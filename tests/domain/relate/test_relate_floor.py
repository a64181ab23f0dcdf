"""The quality of verdicts, as totals: the worst errors have a limit that may only fall."""

import json
import random
import runpy
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from lamplighter.domain.relate import relate

PAIRS = Path(__file__).parents[2] / "data" / "relate"
RULE = Path(__file__).parents[3] / "benchmarks" / "two_clauses.py"
LABELS = ("reinforce", "contradict", "new")

Found = Counter[tuple[str, str]]
"""The number of pairs of one label with the verdict of another."""


def pairs(name: str) -> list[dict[str, Any]]:
    lines = (PAIRS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def judged(given: Iterable[dict[str, Any]]) -> Found:
    return Counter(
        (pair["label"], relate(pair["new"], pair["old"], service=pair["service"]).label)
        for pair in given
    )


def macro_f1(found: Found) -> float:
    def f1(label: str) -> float:
        hit = found[label, label]
        said = sum(count for (_, other), count in found.items() if other == label)
        meant = sum(count for (own, _), count in found.items() if own == label)
        return 2 * hit / (said + meant)

    return sum(map(f1, LABELS)) / len(LABELS)


def taken_for(found: Found, labels: Sequence[str], other: str) -> float:
    """Return the share of the pairs of some labels with the verdict of another."""
    meant = sum(count for (own, _), count in found.items() if own in labels)
    return sum(found[label, other] for label in labels) / meant


@pytest.mark.parametrize("name", ["pairs", "unseen"])
def test_verdicts_on_labelled_pairs_meet_the_limits(name: str) -> None:
    found = judged(pairs(name))

    told = {
        "macro_f1": round(macro_f1(found), 4),
        "contradict_as_reinforce": round(taken_for(found, ["contradict"], "reinforce"), 4),
        "false_contradict": round(taken_for(found, ["reinforce", "new"], "contradict"), 4),
    }
    print(name, told)  # noqa: T201 - only totals: nobody is to learn from the pairs
    assert told["macro_f1"] >= 0.80, told
    assert told["contradict_as_reinforce"] <= 0.10, told
    assert told["false_contradict"] <= 0.06, told


def test_verdicts_on_texts_of_two_clauses_meet_the_limits() -> None:
    """A rule generates these pairs, and nothing is fitted to them."""
    given = pairs("two_clauses")
    assert given == list(runpy.run_path(str(RULE))["pairs"]())

    found = judged(given)
    score = round(macro_f1(found), 4)
    wrong = round(taken_for(found, ["contradict"], "reinforce"), 4)
    false = round(taken_for(found, ["reinforce", "new"], "contradict"), 4)
    print("two_clauses", score, wrong, false)  # noqa: T201 - as above
    assert score >= 0.68
    assert wrong <= 0.07
    assert false <= 0.07


def test_verdicts_on_the_difficult_kinds_meet_the_limits() -> None:
    """Outcomes, amounts in another sentence, single values, two claims: the development set."""
    found = judged(pairs("kinds"))
    score = round(macro_f1(found), 4)
    wrong = round(taken_for(found, ["contradict"], "reinforce"), 4)
    print("kinds", score, wrong)  # noqa: T201 - as above
    assert score >= 0.84
    assert wrong <= 0.04


def test_verdicts_on_the_difficult_kinds_for_other_services_meet_the_limits() -> None:
    """The kinds of the test above, for other services; `kinds_held` was only ever scored."""
    more, held = judged(pairs("kinds_more")), judged(pairs("kinds_held"))
    scores = [round(macro_f1(found), 4) for found in (more, held)]
    wrong = [round(taken_for(found, ["contradict"], "reinforce"), 4) for found in (more, held)]
    print("kinds_more, kinds_held", scores, wrong)  # noqa: T201 - as above
    assert min(scores) >= 0.74
    assert max(wrong) <= 0.07


def test_verdicts_on_paraphrased_kinds_meet_the_limits() -> None:
    """Outcomes, slots and amounts of further services, written before the rules for outcomes."""
    found = judged(pairs("phrased"))
    score = round(macro_f1(found), 4)
    wrong = round(taken_for(found, ["contradict"], "reinforce"), 4)
    print("phrased", score, wrong)  # noqa: T201 - as above
    assert score >= 0.71
    assert wrong <= 0.04


def test_observations_of_every_kind_are_judged_well_enough() -> None:
    """Plain observations of 54 services; `plain_held` was only ever scored."""
    some, held = judged(pairs("plain")), judged(pairs("plain_held"))
    scores = [round(macro_f1(found), 4) for found in (some, held)]
    wrong = [round(taken_for(found, ["contradict"], "reinforce"), 4) for found in (some, held)]
    false = [
        round(taken_for(found, ["reinforce", "new"], "contradict"), 4) for found in (some, held)
    ]
    print("plain, plain_held", scores, wrong, false)  # noqa: T201 - as above
    assert scores[0] >= 0.94
    assert scores[1] >= 0.82
    assert max(wrong) == 0
    assert max(false) <= 0.13


def test_verdicts_on_phenomena_of_language_meet_the_limits() -> None:
    """Comparison, scope, need and further kinds; `phenomena_held` was only ever scored."""
    names = ("phenomena", "phenomena_more", "phenomena_held")
    sets = [judged(pairs(name)) for name in names]
    scores = [round(macro_f1(found), 4) for found in sets]
    wrong = [round(taken_for(found, ["contradict"], "reinforce"), 4) for found in sets]
    false = [round(taken_for(found, ["reinforce", "new"], "contradict"), 4) for found in sets]
    print(*names, scores, wrong, false)  # noqa: T201 - as above
    assert all(score >= least for score, least in zip(scores, (0.80, 0.57, 0.65), strict=True))
    assert max(wrong) <= 0.15
    assert max(false) <= 0.13


def test_verdicts_on_other_domains_meet_the_limits() -> None:
    """62 services from telephony to laboratories; `domains_held` was only scored."""
    sets = [judged(pairs(name)) for name in ("domains", "domains_held")]
    scores = [round(macro_f1(found), 4) for found in sets]
    wrong = [round(taken_for(found, ["contradict"], "reinforce"), 4) for found in sets]
    false = [round(taken_for(found, ["reinforce", "new"], "contradict"), 4) for found in sets]
    print("domains, domains_held", scores, wrong, false)  # noqa: T201 - as above
    assert scores[0] >= 0.75
    assert scores[1] >= 0.70
    assert max(wrong) <= 0.1
    assert max(false) <= 0.12


def test_p_matches_the_share_of_correct_verdicts() -> None:
    verdicts = [
        (each["label"], relate(each["new"], each["old"], service=each["service"]))
        for each in pairs("unseen")
    ]
    some = [(label, each) for label, each in verdicts if each.sure]
    right = sum(label == each.label for label, each in some) / len(some)
    promised = sum(each.p for _, each in some) / len(some)
    print("sure", len(some), round(right, 2), round(promised, 2))  # noqa: T201 - as above
    assert right >= 0.88
    assert len(some) / len(verdicts) <= 0.93
    assert abs(right - promised) <= 0.1


def test_unrelated_texts_are_almost_never_related() -> None:
    """Most texts of a real stream are unrelated to the stored memories."""
    chance = random.Random(5)
    texts = [
        (pair["category"], pair["service"], pair[side])
        for pair in pairs("pairs")
        for side in ("old", "new")
    ]
    found = matched = 0
    while found < 3_000:
        (category, service, old), (other, another, new) = chance.sample(texts, 2)
        if category == other and service != another:
            found += 1
            matched += relate(new, old).label != "new"
    print("strangers", matched, "of", found)  # noqa: T201 - as above
    assert matched / found <= 0.004
