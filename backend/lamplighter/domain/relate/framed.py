"""How two sentences of one declared frame relate: by their fillers alone."""

from collections.abc import Mapping
from typing import Final

from lamplighter.domain.memory.frames import FRAMES, Frame
from lamplighter.domain.relate.analysis import Measure
from lamplighter.domain.relate.judge import Relation, RelationVerdict
from lamplighter.domain.relate.measures import QUANTITIES, measures_agree
from lamplighter.domain.relate.text import split_items

FRAME_PROBABILITY: Final = 0.99


def judge_frame(new: str, existing: str) -> RelationVerdict | None:
    """Judge two observations of one frame; None where they do not share one."""
    for frame in FRAMES:
        said, known = frame.fillers(new), frame.fillers(existing)
        if said is not None and known is not None:
            return _judge_fillers(frame, said, known)
    return None


def _judge_fillers(
    frame: Frame, said: Mapping[str, str], fillers: Mapping[str, str]
) -> RelationVerdict:
    differs = [slot for slot in frame.slots if not fillers_equal(said[slot], fillers[slot])]
    subjects = [slot for slot in differs if slot != frame.value]
    if subjects:
        slot = subjects[0]
        return RelationVerdict(
            Relation.UNRELATED,
            f"different subject: {said[slot]}, not {fillers[slot]}",
            FRAME_PROBABILITY,
        )
    if differs:
        return RelationVerdict(
            Relation.CONFLICTING,
            f"{said[frame.value]} instead of {fillers[frame.value]}",
            FRAME_PROBABILITY,
        )
    slot = frame.value or frame.slots[0]
    return RelationVerdict(
        Relation.SAME, f"same fact: {said[slot]} for {fillers[slot]}", FRAME_PROBABILITY
    )


def fillers_equal(one: str, two: str) -> bool:
    """Whether two fillers are the same: amounts within 15 %, all others word for word."""
    if one == two:
        return True
    first, second = split_items(one), split_items(two)
    if len(first) != 1 or len(second) != 1:
        return False
    a, b = (Measure(each.kind, each.text, each.low, each.high) for each in (first[0], second[0]))
    return a.kind == b.kind and a.kind in QUANTITIES - {"number"} and measures_agree(a, b)
