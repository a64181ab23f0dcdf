"""How two sentences of one declared frame stand to each other: by their fillers alone."""

from collections.abc import Mapping
from typing import Final

from lamplighter.domain.memory.frames import FRAMES, Frame
from lamplighter.domain.relate.analysis import Measure
from lamplighter.domain.relate.judge import Relation, Verdict
from lamplighter.domain.relate.measures import QUANTITIES, agree
from lamplighter.domain.relate.text import items

P: Final = 0.99


def framed(new: str, held: str) -> Verdict | None:
    """Judge two observations of one frame; None where they do not share one."""
    for frame in FRAMES:
        said, known = frame.fillers(new), frame.fillers(held)
        if said is not None and known is not None:
            return _judged(frame, said, known)
    return None


def _judged(frame: Frame, said: Mapping[str, str], known: Mapping[str, str]) -> Verdict:
    differs = [slot for slot in frame.slots if not equal(said[slot], known[slot])]
    subjects = [slot for slot in differs if slot != frame.value]
    if subjects:
        slot = subjects[0]
        return Verdict(Relation.UNRELATED, f"about another one: {said[slot]}, not {known[slot]}", P)
    if differs:
        return Verdict(
            Relation.CONFLICTING,
            f"says {said[frame.value]} where the other says {known[frame.value]}",
            P,
        )
    slot = frame.value or frame.slots[0]
    return Verdict(Relation.SAME, f"says the same: {said[slot]} for {known[slot]}", P)


def equal(one: str, two: str) -> bool:
    """Whether two fillers are the same: amounts within 15 %, all others word for word."""
    if one == two:
        return True
    first, second = items(one), items(two)
    if len(first) != 1 or len(second) != 1:
        return False
    a, b = (Measure(each.kind, each.text, each.low, each.high) for each in (first[0], second[0]))
    return a.kind == b.kind and a.kind in QUANTITIES - {"number"} and agree(a, b)
