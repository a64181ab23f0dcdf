"""Share of correct verdicts of relate, by score: `python -m benchmarks.calibrate`.

It writes `calibration.json` from the labelled development pairs. The share of correct verdicts
rises with the score (pool adjacent violators).
"""

import json
from pathlib import Path
from typing import Any, Final

from benchmarks import fit
from lamplighter.domain import relate
from lamplighter.domain.relate import Relation, analyze, judge_text
from lamplighter.domain.relate.judge import RelationVerdict, judge_raw

TARGET: Final = Path(relate.__file__).with_name("calibration.json")
SETS: Final = (*fit.SETS, "phenomena", "phenomena_more")
LEAST: Final = 25
"""The minimum number of pairs in a step."""

Step = tuple[float, int, int]


def main() -> None:
    """Write for each relation the score thresholds and the share of correct verdicts above each."""
    scored: dict[str, list[tuple[float, bool]]] = {each.value: [] for each in Relation}
    for pair in (each for name in SETS for each in fit.pairs(name)):
        if judge_text(pair["new"], pair["old"]) is None:
            found = _raw(pair)
            scored[found.relation.value].append((found.p, found.label == pair["label"]))
    steps = {name: pooled(sorted(given)) for name, given in scored.items()}
    TARGET.write_text(json.dumps(steps, indent=1) + "\n", encoding="utf-8")


def pooled(scored: list[tuple[float, bool]]) -> list[tuple[float, float]]:
    """Return steps with a rising share: each lowest score, with its share of right verdicts."""
    steps: list[Step] = []
    for at in range(0, len(scored), LEAST):
        some = scored[at : at + LEAST]
        steps.append((some[0][0], sum(right for _, right in some), len(some)))
        while len(steps) > 1 and _share(steps[-2]) >= _share(steps[-1]):
            (least, one, of), (_, two, more) = steps[-2:]
            steps[-2:] = [(least, one + two, of + more)]
    # one more of each: no step is never or always right
    return [(round(least, 4), round((hit + 1) / (of + 2), 2)) for least, hit, of in steps]


def _share(step: Step) -> float:
    return step[1] / step[2]


def _raw(pair: dict[str, Any]) -> RelationVerdict:
    words = relate.builtin_lexicon()
    old, new = (analyze(pair[side], words, service=pair["service"]) for side in ("old", "new"))
    return judge_raw(new, old)


if __name__ == "__main__":
    main()
