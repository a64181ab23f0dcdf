"""Reconcile what a session says now with what we already hold."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from lamplighter.domain.memory.memory import Candidate, Memory, MemoryId, contradicted, reinforced
from lamplighter.domain.memory.review import ReviewKind
from lamplighter.domain.relate import Relation, Verdict

Relate = Callable[[Memory], Verdict]
OWN: Final = "the session that learned it says it again"
ONCE: Final = "this session has reinforced it already"
ECHO: Final = "it was told to this session, which repeats it word for word without looking"
REFUSED: Final = "a person decided against it"
TOLD: Final = "it was told to this session, which says it word for word"


class Outcome(StrEnum):
    """What became of a candidate."""

    LEARNED = "learned"
    REINFORCED = "reinforced"
    UNCHANGED = "unchanged"


class Echo(StrEnum):
    """What a word-for-word repeat of a line that was told to the same session is worth."""

    COUNT = "count"
    IGNORE = "ignore"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What the candidate's session has done so far, and what people decided.

    `up` and `down` are the memories it has moved; `told` those that were told to
    it; `looked` whether it looked at the candidate's service itself; `settled`
    pairs of memories of which a person said that both stand; `refused` those
    that a person put aside for another one that is still believed.
    """

    up: Collection[MemoryId] = ()
    down: Collection[MemoryId] = ()
    told: Collection[MemoryId] = ()
    looked: bool = True
    echo: Echo = Echo.COUNT
    settled: Collection[frozenset[MemoryId]] = ()
    refused: Collection[MemoryId] = ()


NOTHING_DONE: Final = Standing()


@dataclass(frozen=True, slots=True)
class Effect:
    """What a candidate does to a memory beside its target; a review asks a person about it."""

    before: Memory
    after: Memory
    kind: ReviewKind
    reason: str

    @property
    def weakens(self) -> bool:
        """Whether the memory lost confidence."""
        return self.after != self.before


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do: keep `target` as it now is, or learn the candidate where there is none.

    `revives` is the inactive memory that a learned one says again; `reason` is
    what an operator reads in the history.
    """

    outcome: Outcome
    target: Memory | None = None
    effects: tuple[Effect, ...] = ()
    revives: MemoryId | None = None
    reason: str = ""


def reconcile(
    candidate: Candidate,
    held: Sequence[Memory],
    relate: Relate,
    *,
    now: datetime,
    standing: Standing = NOTHING_DONE,
) -> Decision:
    """Decide what becomes of a candidate (SPEC-0015, Memory Reinforcement, Contradiction).

    `held` are memories of its service and category: the active ones that may be
    related, and inactive twins. The best that says the same is reinforced, or
    the candidate is learned; every one it contradicts loses 0.2 and a person is
    asked; where it is not sure, a person is asked and nothing is lost. What a
    person decided against word for word does nothing, and two claims of one
    session are not weighed against each other.
    """
    verdicts = [(memory, relate(memory)) for memory in held]
    refused = _refused(verdicts, standing)
    if refused is not None:
        return Decision(Outcome.UNCHANGED, refused, reason=REFUSED)
    active = [(memory, verdict) for memory, verdict in verdicts if memory.active]
    same = [each for each in active if each[1].relation is Relation.SAME]
    best = max(same, key=_standing, default=None)
    effects = tuple(
        _effect(memory, verdict, standing)
        for memory, verdict in active
        if verdict.relation in (Relation.CONFLICTING, Relation.UNSURE)
        and not _own(candidate, memory)
        and not (best and frozenset((best[0].id, memory.id)) in standing.settled)
    )
    if best is None:
        twins = [each.id for each, verdict in verdicts if _is_twin(each, verdict)]
        return _learned(max(twins, default=None), effects)
    memory, verdict = best
    held_back = _held_back(candidate, memory, verdict, standing)
    if held_back:
        return Decision(Outcome.UNCHANGED, memory, effects, reason=held_back)
    reason = TOLD if _echoes(memory, verdict, standing) else verdict.reason
    return Decision(Outcome.REINFORCED, reinforced(memory, now=now), effects, reason=reason)


def _effect(memory: Memory, verdict: Verdict, standing: Standing) -> Effect:
    if verdict.relation is Relation.UNSURE:
        return Effect(memory, memory, ReviewKind.POSSIBLE, verdict.reason)
    after = memory if memory.id in standing.down else contradicted(memory)
    return Effect(memory, after, ReviewKind.CONFLICT, verdict.reason)


def _held_back(
    candidate: Candidate, best: Memory, verdict: Verdict, standing: Standing
) -> str | None:
    """Say why a memory that is said again is not reinforced; None when it is."""
    if _own(candidate, best):
        return OWN
    if best.id in standing.up:
        return ONCE
    if _echoes(best, verdict, standing) and standing.echo is Echo.IGNORE and not standing.looked:
        return ECHO
    return None


def _own(candidate: Candidate, memory: Memory) -> bool:
    """Whether the session that speaks is the one that a memory was learned from."""
    return candidate.session_id is not None and memory.session_id == candidate.session_id


def _refused(verdicts: Sequence[tuple[Memory, Verdict]], standing: Standing) -> Memory | None:
    twins = [memory for memory, verdict in verdicts if verdict.word_for_word]
    if any(each.active for each in twins):
        return None
    against = [each for each in twins if each.id in standing.refused]
    return max(against, key=lambda each: each.id, default=None)


def _echoes(memory: Memory, verdict: Verdict, standing: Standing) -> bool:
    return memory.id in standing.told and verdict.word_for_word


def _is_twin(memory: Memory, verdict: Verdict) -> bool:
    return not memory.active and verdict.word_for_word


def _learned(twin: MemoryId | None, effects: tuple[Effect, ...]) -> Decision:
    reason = (
        "not known before"
        if twin is None
        else f"says again what memory {twin} held before it turned inactive"
    )
    return Decision(Outcome.LEARNED, effects=effects, revives=twin, reason=reason)


def _standing(each: tuple[Memory, Verdict]) -> tuple[float, float, int]:
    memory, verdict = each
    return verdict.p, memory.confidence, -memory.id
