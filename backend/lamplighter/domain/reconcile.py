"""Reconcile what a session says now with what we already hold."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from lamplighter.domain.memory import Candidate, Memory, MemoryId, reinforced
from lamplighter.domain.relate import Relation

Relate = Callable[[str, str], Relation]


class Outcome(StrEnum):
    """What became of a candidate."""

    LEARNED = "learned"
    REINFORCED = "reinforced"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do: keep `target` as it now is, or learn the candidate where there is none.

    `revives` is the inactive memory that a learned one says again; `reason` is
    what an operator reads in the history.
    """

    outcome: Outcome
    target: Memory | None = None
    revives: MemoryId | None = None
    reason: str = ""


def reconcile(
    candidate: Candidate,
    held: Sequence[Memory],
    relate: Relate,
    *,
    now: datetime,
    moved: Collection[MemoryId] = (),
) -> Decision:
    """Decide what becomes of a candidate.

    `held` are the memories of its service and category, active or not; `moved`
    those that its session has already reinforced. A session moves a memory at
    most once up, and not what it created itself (DESIGN section 4).
    """
    same = [
        memory
        for memory in held
        if relate(candidate.observation, memory.observation) is Relation.SAME
    ]
    best = max((memory for memory in same if memory.active), key=_standing, default=None)
    if best is None:
        twin = max((memory.id for memory in same), default=None)
        return Decision(Outcome.LEARNED, revives=twin, reason=_learned(twin))
    if candidate.session_id is not None and best.session_id == candidate.session_id:
        return Decision(Outcome.UNCHANGED, best, reason="the session that learned it says it again")
    if best.id in moved:
        return Decision(Outcome.UNCHANGED, best, reason="this session has reinforced it already")
    return Decision(
        Outcome.REINFORCED, reinforced(best, now=now), reason="said again in the same words"
    )


def _standing(memory: Memory) -> tuple[float, int]:
    return memory.confidence, -memory.id


def _learned(twin: MemoryId | None) -> str:
    return (
        "not known before"
        if twin is None
        else f"says again what memory {twin} held before it turned inactive"
    )
